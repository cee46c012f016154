// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainCLI
@testable import RefrainPlayer

struct ScreenModelTests {
  private let now = ContinuousClock.now

  private func state(_ media: [Media]) -> PlayerState {
    var state = PlayerState()
    state.queue.replace(with: media, startingAt: 0)
    state.status = .playing
    state.duration = .seconds(100)
    return state
  }

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  private func model(
    _ state: PlayerState, known: [PlayQueue.Item.ID: KnownItem] = [:]
  ) -> ScreenModel {
    var model = ScreenModel()
    model.show(state, known: known, now: now)
    return model
  }

  @Test func `The title comes from the stream, the playlist, the media or the URL`() throws {
    var state = state([Media(try url("https://me:secret@h/a/song%201.flac?token=t"))])
    #expect(model(state).title == "song 1.flac")
    #expect(model(state).address == "https://h/a/song%201.flac?token=t")
    state.metadata = MediaMetadata(title: "Its own", artist: "Artist", album: "Album")
    #expect(model(state).title == "Its own")
    #expect(model(state).details == ["Artist", "Album"])
    // What a list states takes precedence.
    state.queue.items[0].media.title = "Of the playlist"
    state.queue.items[0].media.artist = "Its artist"
    #expect(model(state).title == "Of the playlist")
    #expect(model(state).details == ["Its artist", "Album"])
    state.queue.items[0].media.album = "Its artist"
    #expect(model(state).details == ["Its artist"])
    state.metadata.streamTitle = "On air"
    #expect(model(state).title == "On air")
  }

  @Test func `Stored, fetched and buffered ranges are fractions of the bar`() throws {
    var state = state([Media(try url("https://h/a"))])
    state.cacheProgress = CacheProgress(length: 1000, spans: RangeSet(0..<250))
    state.fetching = RangeSet(250..<500)
    state.bufferedRanges = [.seconds(0)..<Duration.seconds(40)]
    let model = model(state)
    #expect(model.map.cached == [0..<0.25])
    #expect(model.map.fetching == [0.25..<0.5])
    #expect(model.map.buffered == [0..<0.4])
    #expect(model.storedBytes == 250 && model.totalBytes == 1000)
  }

  @Test func `Rewound live sound shows how far it is behind, and the present does not`() throws {
    var state = state([Media(try url("https://h/radio"))])
    (state.isLive, state.duration) = (true, nil)
    #expect(model(state).rewound == nil)
    state.liveWindow = LiveWindow(start: .seconds(100), end: .seconds(1100))
    state.position = .seconds(1090)
    #expect(model(state).rewound == .init(behind: nil, fraction: 1))
    state.position = .seconds(620)
    let model = model(state)
    #expect(model.rewound == .init(behind: .seconds(480), fraction: 0.52))
    let lines = ScreenRenderer(.blocks).lines(model, ScreenSize(columns: 80, rows: 24))
    #expect(lines.contains { $0.text.hasSuffix("  -8:00 live") })
    #expect(lines.allSatisfy { $0.width <= 80 })
    #expect(lines.contains { $0.text.contains("Playing") })
  }

  @Test func `After a jump back in live sound, the marker leaves the end of the bar`() throws {
    var state = state([Media(try url("https://h/radio"))])
    (state.isLive, state.duration) = (true, nil)
    state.liveWindow = LiveWindow(start: .zero, end: .seconds(7200))
    state.position = .seconds(7190)
    let renderer = ScreenRenderer(.blocks)
    let atPresent = renderer.scrubberLine(model(state), 60).text
    #expect(atPresent.hasSuffix("\(renderer.glyphs.position)  live"))
    state.hasLeftLive = true
    let behind = renderer.scrubberLine(model(state), 60).text
    #expect(behind.hasSuffix("\(renderer.glyphs.position)\(renderer.glyphs.cached)  -0:10 live"))
  }

  @Test func `A live stream whose segments the proxy requests shows no requests`() throws {
    var state = state([Media(try url("https://h/live.m3u8"))])
    #expect(model(state).requests == 0)
    (state.isLive, state.duration) = (true, nil)
    var model = model(state)
    let renderer = ScreenRenderer(.blocks)
    #expect(model.requests == nil)
    #expect(renderer.figures(model, 80, lines: 1).map(\.text) == [""])
    model.isOffline = true
    #expect(renderer.figures(model, 80, lines: 1).map(\.text) == ["offline"])
    // A station is read by the player itself.
    state.statistics = MediaReader.Statistics()
    #expect(self.model(state).requests == 0)
  }

  @Test func `An item is live if the player says so, whatever its length`() throws {
    var state = state([Media(try url("https://h/radio"))])
    state.duration = nil
    state.metadata = MediaMetadata(streamTitle: "Song", station: "Station")
    state.cacheProgress = CacheProgress(length: nil, spans: RangeSet())
    #expect(model(state).length == .unknown)
    state.isLive = true
    #expect(model(state).length == .live)
    #expect(model(state).details == ["Station"])
    state.status = .loading
    state.cacheProgress = CacheProgress(length: 1000, spans: RangeSet())
    #expect(model(state).length == .live)
  }

  @Test func `A local file is shown as completely stored`() throws {
    let model = model(state([Media(URL(filePath: "/music/song.flac"))]))
    #expect(model.isLocal && model.map.cached == [0..<1])
    #expect(model.address == "/music/song.flac")
  }

  @Test func `Rows are in play order`() throws {
    var state = state(try (0..<9).map { Media(try url("https://h/\($0)")) })
    state.queue.setShuffled(true)
    let model = model(state)
    #expect(model.queue.rows.map(\.id) == state.queue.playOrder.map(\.id.rawValue))
    #expect(model.queue.rows.map(\.number) == Array(1...9))
    #expect(model.queue.rows.filter(\.isCurrent).map(\.id) == [state.item?.id.rawValue])
    #expect(model.isShuffled)
  }

  @Test func `Rows show known titles, durations and failures`() throws {
    let state = state([Media(try url("https://h/a"), duration: .seconds(5))])
    let id = try #require(state.item?.id)
    let row = model(
      state,
      known: [
        id: KnownItem(
          title: "T", artist: "A", duration: .seconds(7), cached: 0.5, hasFailed: true)
      ]
    ).queue.rows[0]
    #expect(row.title == "T" && row.artist == "A" && row.duration == .seconds(7))
    #expect(row.cached == 0.5 && row.hasFailed)
    #expect(model(state).queue.rows[0].duration == .seconds(5))
  }

  @Test func `The sleep timer shows the remaining time`() throws {
    var state = state([])
    state.sleepTimer = .at(now + .seconds(90))
    #expect(model(state).sleepTimer == .left(.seconds(90)))
    state.sleepTimer = .at(now - .seconds(1))
    #expect(model(state).sleepTimer == .left(.zero))
    state.sleepTimer = .endOfItem
    #expect(model(state).sleepTimer == .endOfItem)
  }
}

struct KnownItemsTests {
  private var items: [PlayQueue.Item] {
    var queue = PlayQueue(seed: 1)
    queue.replace(
      with: (1...2).map { Media(URL(filePath: "/\($0)")) }, startingAt: 0)
    return queue.items
  }

  @Test func `Metadata and duration are recorded for the item reported last`() {
    var known = KnownItems()
    known.note(.item(items[0]))
    known.note(.metadata(MediaMetadata(title: "One", artist: "A")))
    known.note(.duration(.seconds(5)))
    known.note(.item(items[1]))
    known.note(.metadata(MediaMetadata()))
    known.note(.duration(nil))
    known.note(.metadata(MediaMetadata(title: "Two")))
    #expect(known.items[items[0].id]?.title == "One")
    #expect(known.items[items[0].id]?.duration == .seconds(5))
    #expect(known.items[items[1].id]?.title == "Two")
    // Back at the item, values that are not reported again stay known.
    known.note(.item(items[0]))
    known.note(.metadata(MediaMetadata()))
    known.note(.cached(CacheProgress(length: 10, spans: RangeSet(0..<5))))
    #expect(
      known.items[items[0].id]
        == KnownItem(title: "One", artist: "A", duration: .seconds(5), cached: 0.5))
  }

  @Test func `An item that starts is no longer marked as failed`() {
    var known = KnownItems()
    known.note(.failed(items[0], MediaCacheError(.status, "404.")))
    #expect(known.items[items[0].id]?.hasFailed == true)
    known.note(.started(items[0], after: .zero))
    #expect(known.items[items[0].id]?.hasFailed == false)
  }
}

struct StepTests {
  @Test func `Rates go up and down in steps`() {
    #expect(RateSteps.above(1) == 1.25)
    #expect(RateSteps.above(3) == 3.5 && RateSteps.above(4) == 4)
    #expect(RateSteps.below(1) == 0.75)
    #expect(RateSteps.below(0.5) == 0.25 && RateSteps.below(0.25) == 0.25)
    #expect(RateSteps.above(1.1) == 1.25 && RateSteps.below(1.1) == 1)
  }
}

struct ScreenMessageTests {
  private let start = ContinuousClock.now

  @Test func `Messages disappear after a while, and errors later`() {
    var messages = ScreenMessages()
    messages.add(.init(text: "a"), at: start)
    messages.add(.init(text: "b", level: .error), at: start)
    #expect(messages.current(at: start + .seconds(1)).map(\.text) == ["a", "b"])
    #expect(messages.current(at: start + .seconds(30)).map(\.text) == ["b"])
    #expect(messages.current(at: start + .seconds(61)).isEmpty)
  }

  @Test func `A repeated message is shown once, and only the latest six are kept`() {
    var messages = ScreenMessages()
    for text in ["a", "b", "a"] { messages.add(.init(text: text), at: start) }
    #expect(messages.current(at: start).map(\.text) == ["b", "a"])
    for number in 0..<20 { messages.add(.init(text: "\(number)"), at: start) }
    #expect(messages.current(at: start).map(\.text) == ["14", "15", "16", "17", "18", "19"])
  }

  @Test func `A noted line with the program's prefix is a warning`() {
    #expect(
      ScreenModel.Message(noted: "refrain: full") == .init(text: "full", level: .warning))
    #expect(ScreenModel.Message(noted: "No sound.") == .init(text: "No sound."))
  }
}
