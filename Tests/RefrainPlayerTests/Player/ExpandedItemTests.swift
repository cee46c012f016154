// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainPlayer

/// Items that turn out to be lists (`Player.Configuration.readList`).
@MainActor
@Suite(.timeLimit(.minutes(1)))
struct ExpandedItemTests {
  private typealias ReadList =
    @Sendable (Media, MediaCacheError) async throws -> [Media]?

  private func withReader(
    _ readList: @escaping ReadList, _ body: (Player, ScriptedEngine) async throws -> Void
  ) async throws {
    var configuration = Player.Configuration()
    configuration.readList = readList
    try await withPlayer(configuration, body)
  }

  /// Lets the engine find no media in the current item.
  private func refuse(_ engine: ScriptedEngine) {
    engine.take(.begin)
    engine.take(.fail)
  }

  private func titles(_ player: Player) -> [String?] { player.queue.items.map(\.media.title) }

  private func media(_ titles: String...) -> [Media] { titles.map(ScriptedEngine.media) }

  private nonisolated static func songs() async -> [Media] {
    await MainActor.run { ["ok-20", "ok-4"].map(ScriptedEngine.media) }
  }

  @Test func `The items of a list take its place, and nothing fails`() async throws {
    try await withReader({ _, _ in await Self.songs() }) { player, engine in
      let events = player.events()
      var list = ScriptedEngine.media("broken")
      list.subtitles = [Media.Subtitle(URL(filePath: "/words.srt"))]
      player.play([list] + media("ok-30"), from: .seconds(5))
      let item = try #require(player.item)
      refuse(engine)
      try await eventually("it is expanded") { player.item?.media.title == "ok-20" }
      let playing = try #require(engine.current)
      #expect(playing.item.media.title == "ok-20" && playing.position == .seconds(5))
      #expect(playing.item.media.subtitles == list.subtitles)
      #expect(titles(player) == ["ok-20", "ok-4", "ok-30"])
      #expect(player.queue.items.map(\.media.lists) == [[list.url], [list.url], []])
      #expect(engine.next?.media.title == "ok-4" && player.status == .loading)
      await player.close()
      var told: [PlayerEvent] = []
      for await event in events { told.append(event) }
      let expansions = told.filter { if case .expanded = $0 { true } else { false } }
      #expect(
        expansions == [.expanded(item, into: Array(player.queue.items.prefix(2)))])
      #expect(!told.contains { if case .failed = $0 { true } else { false } })
      let report = try #require(
        told.firstIndex { if case .report(item, _) = $0 { true } else { false } })
      let expansion = try #require(
        told.firstIndex { if case .expanded = $0 { true } else { false } })
      #expect(expansion < report)
    }
  }

  @Test func `A list that is opened while paused stays paused`() async throws {
    try await withReader({ _, _ in await Self.songs() }) { player, engine in
      player.play(media("broken"))
      player.pause()
      refuse(engine)
      try await eventually("it is expanded") { player.queue.items.count == 2 }
      #expect(engine.isPaused && !player.wantsToPlay)
    }
  }

  @Test func `What is no list fails with the engine's error, or with another`() async throws {
    let media = media("broken", "ok-4")
    try await withReader({ _, _ in nil }) { player, engine in
      player.play([media[0]])
      refuse(engine)
      let error = ScriptedEngine.error(of: media[0])
      try await eventually("it fails") { player.status == .failed(error) }
    }
    let empty = MediaCacheError(.invalidResponse, "It is empty.", remedy: "Fill it.")
    try await withReader({ _, _ in throw empty }) { player, engine in
      player.play(media)
      let events = player.events()
      refuse(engine)
      try await eventually("the next plays") { player.item?.media == media[1] }
      await player.close()
      var errors: [MediaCacheError] = []
      for await event in events { if case .failed(_, let error) = event { errors.append(error) } }
      #expect(errors == [empty])
    }
  }

  @Test func `A list in itself is not read again, and the next item plays`() async throws {
    let readings = Mutex(0)
    try await withReader({ media, _ in
      readings.withLock { $0 += 1 }
      return await [Media(media.url)] + Self.songs()
    }) { player, engine in
      player.play(media("broken"))
      refuse(engine)
      try await eventually("it is expanded") { player.queue.items.count == 3 }
      #expect(engine.current?.item.media.url.lastPathComponent == "broken")
      let events = player.events()
      refuse(engine)
      try await eventually("the next plays") { player.item?.media.title == "ok-20" }
      await player.close()
      var reasons: [String] = []
      for await event in events {
        if case .failed(_, let error) = event { reasons.append(error.reason) }
      }
      #expect(reasons == ["/broken is a playlist that lists itself."])
      #expect(readings.withLock { $0 } == 1)
    }
  }

  @Test func `A list that the listener leaves while it is read stays as it is`() async throws {
    let (gate, open) = AsyncStream<Void>.makeStream()
    let (readings, begun) = AsyncStream<Void>.makeStream()
    try await withReader({ _, _ in
      begun.yield()
      for await _ in gate {}
      return await Self.songs()
    }) { player, engine in
      player.play(media("broken", "ok-30"))
      refuse(engine)
      for await _ in readings { break }
      player.next()
      open.finish()
      for _ in 0..<100 { await Task.yield() }
      #expect(titles(player) == ["broken", "ok-30"])
      #expect(engine.current?.item.media.title == "ok-30")
    }
  }
}
