// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  /// Which picture is loaded, and when.
  struct MPRISCoverPlanTests {
    private let song = Media(URL(filePath: "/music/song.mp3"))

    private func remote(_ name: String) throws -> Media {
      Media(try #require(URL(string: "https://a.example/\(name)")))
    }

    private func state(
      _ media: [Media], _ change: (inout PlayerState) -> Void = { _ in }
    ) -> PlayerState {
      var state = PlayerState()
      state.queue = PlayQueue(seed: 1)
      state.queue.append(media)
      (state.status, state.wantsToPlay) = (.playing, true)
      change(&state)
      return state
    }

    private static func buffer(_ state: inout PlayerState) {
      state.bufferedRanges = [.zero..<PlayerState.margin]
    }

    /// Shows a state to a plan.
    ///
    /// - Returns: whether another picture is to be shown, and what to load.
    private func show(
      _ state: PlayerState, to plan: inout MPRISCoverPlan
    ) -> (isNew: Bool, source: MPRISCoverPlan.Source?) {
      let isNew = plan.update(state)
      return (isNew, plan.next(state))
    }

    @Test func `A stated picture comes first, and is loaded once`() throws {
      var plan = MPRISCoverPlan()
      var media = try remote("song.mp3")
      let url = try #require(URL(string: "https://a.example/cover.jpg"))
      media.artwork = url
      let loading = state([media]) { $0.status = .loading }
      let first = show(loading, to: &plan)
      #expect(first.isNew && first.source == .url(url) && plan.file == nil)
      let second = show(loading, to: &plan)
      plan.note(isPartial: false)
      let third = show(loading, to: &plan)
      #expect(!second.isNew && second.source == nil && !third.isNew && third.source == nil)
    }

    @Test func `A stated picture that is a file is shown as it is`() {
      var plan = MPRISCoverPlan()
      var media = song
      media.artwork = URL(filePath: "/music/cover.jpg")
      let shown = show(state([media]), to: &plan)
      #expect(shown.isNew && shown.source == nil && plan.file == media.artwork)
    }

    @Test func `A media is looked into once the player has what it needs`() throws {
      var plan = MPRISCoverPlan()
      let media = try remote("song.mp3")
      var now = state([media])
      let bare = show(now, to: &plan)
      #expect(bare.isNew && bare.source == nil)
      Self.buffer(&now)
      now.status = .buffering(.bytes)
      let waiting = show(now, to: &plan)
      #expect(waiting.source == nil)
      now.status = .playing
      let playing = show(now, to: &plan)
      #expect(!playing.isNew && playing.source == .media(TagSubject(media)))
      let running = show(now, to: &plan)
      plan.note(isPartial: false)
      now.cacheProgress = CacheProgress(length: 9, spans: RangeSet(0..<9))
      let over = show(now, to: &plan)
      #expect(running.source == nil && over.source == nil)
    }

    @Test func `Where bytes were missing, it is looked into once more when all is stored`() throws {
      var plan = MPRISCoverPlan()
      let media = try remote("song.wav")
      var now = state([media], Self.buffer)
      let first = show(now, to: &plan)
      plan.note(isPartial: true)
      now.cacheProgress = CacheProgress(length: 9, spans: RangeSet(0..<5))
      let early = show(now, to: &plan)
      now.cacheProgress = CacheProgress(length: 9, spans: RangeSet(0..<9))
      let again = show(now, to: &plan)
      plan.note(isPartial: true)
      let over = show(now, to: &plan)
      let source = MPRISCoverPlan.Source.media(TagSubject(media))
      #expect(first.source == source && early.source == nil)
      #expect(again.source == source && over.source == nil)
    }

    @Test func `Items of one file share its picture, and another item has another`() {
      var plan = MPRISCoverPlan()
      let tracks = [song, song, Media(URL(filePath: "/music/other.mp3"))]
      var now = state(tracks)
      let first = show(now, to: &plan)
      plan.note(isPartial: false)
      now.queue.jump(to: now.queue.items[1].id)
      let second = show(now, to: &plan)
      now.queue.jump(to: now.queue.items[2].id)
      let third = show(now, to: &plan)
      #expect(first.isNew && first.source == .media(TagSubject(song)))
      #expect(!second.isNew && second.source == nil)
      #expect(third.isNew && third.source == .media(TagSubject(tracks[2])))
    }

    @Test func `Streams and stations have no picture`() throws {
      var plan = MPRISCoverPlan()
      let stream = show(state([try remote("live.m3u8")], Self.buffer), to: &plan)
      #expect(!stream.isNew && stream.source == nil)
      let station = state([try remote("station")]) {
        Self.buffer(&$0)
        $0.isLive = true
      }
      let live = show(station, to: &plan)
      #expect(live.isNew && live.source == nil)
    }
  }
#endif
