// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// A player that looks up the tags of the items ahead.
@MainActor
@Suite(.timeLimit(.minutes(1))) struct TagReaderTests {
  @MainActor private struct Place {
    let origin: OriginServer
    let player: Player
    let engine: ScriptedEngine
    let media: [Media]

    /// Plays the current item, with enough buffered.
    func hear() {
      for step in [ScriptedEngine.Step.begin, .ready, .buffer] { engine.take(step) }
    }

    func requests(_ index: Int) -> Int { origin.log("/\(index).mp3").requests.count }

    func sent(_ index: Int) -> Int64 { origin.log("/\(index).mp3").bodyBytesSent }
  }

  private func withPlace(
    _ count: Int = 4, prefetches: Bool = false, reads: Bool = true,
    _ body: (Place) async throws -> Void
  ) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-tags-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start(sendBuffer: 16 << 10)
    for index in 0..<count {
      origin.serve(
        OriginResource(
          .bytes(TagSamples.mp3(samples: 200_000)), contentType: "audio/mpeg",
          etag: "\"\(index)\"", headers: [Field("Cache-Control", "max-age=86400")]),
        at: "/\(index).mp3")
    }
    let cache = try MediaCache(directory: directory)
    let engine = ScriptedEngine()
    var configuration = Player.Configuration()
    configuration.readsTags = reads
    configuration.prefetchesNext = prefetches
    configuration.opening = 64 << 10
    let player = Player(cache: cache, engine: engine, configuration: configuration)
    let media = (0..<count).map { Media(origin.url("/\($0).mp3")) }
    let result: Result<Void, any Error>
    do {
      try await body(Place(origin: origin, player: player, engine: engine, media: media))
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await player.close()
    await cache.close()
    await origin.stop()
    try result.get()
  }

  @Test func `The tags of all items ahead become known, each with one event`() async throws {
    try await withPlace { place in
      let events = place.player.events()
      place.player.play(place.media)
      place.hear()
      try await eventually("the tags are known") { place.player.itemTags.count == 3 }
      let items = place.player.queue.items
      for item in items.dropFirst() { #expect(place.player.itemTags[item.id] == TagSamples.tags) }
      await place.player.close()
      var told: [PlayQueue.Item] = []
      for await case .tags(let item, TagSamples.tags) in events { told.append(item) }
      #expect(told == Array(items.dropFirst()))
      #expect((1...3).map(place.requests) == [1, 1, 1])
    }
  }

  @Test func `Nothing is looked up unless that is wanted`() async throws {
    try await withPlace(reads: false) { place in
      place.player.play(place.media)
      place.hear()
      place.player.lookUpTags(first: place.player.queue.items.map(\.id))
      // As far as a look would have got.
      for _ in 0..<100 { await Task.yield() }
      #expect((0...3).map(place.requests) == [0, 0, 0, 0] && place.player.itemTags.isEmpty)
    }
  }

  @Test func `Nothing is requested before the current item plays, and while it waits`() async throws
  {
    try await withPlace { place in
      place.origin.script("/1.mp3", .on(.first(1), .stall(at: .body(5000))))
      place.player.play(place.media)
      place.engine.take(.begin)
      place.engine.take(.ready)
      // Too little is buffered yet.
      #expect((1...3).map(place.requests) == [0, 0, 0])
      place.engine.take(.buffer)
      try await place.origin.wait(for: "/1.mp3") { $0.stalled == 1 }
      place.engine.take(.wait)
      #expect(place.player.status == .buffering(.bytes))
      // The request ends, although the origin is silent.
      try await place.origin.wait(for: "/1.mp3") { $0.running == 0 }
      #expect(place.requests(2) == 0)
      place.engine.take(.goOn)
      try await eventually("the tags are known") { place.player.itemTags.count == 3 }
      #expect(place.origin.log("/1.mp3").bytesSentTwice <= 16 << 10)
    }
  }

  @Test func `The next item's opening is fetched for playing, and not again for its tags`()
    async throws
  {
    try await withPlace(2, prefetches: true) { place in
      place.player.play(place.media)
      place.hear()
      try await eventually("the tags are known") { place.player.itemTags.count == 1 }
      let log = place.origin.log("/1.mp3")
      #expect(log.requests.map(\.request.range) == ["bytes=0-65535"])
      #expect(log.bodyBytesSent == 64 << 10)
    }
  }

  @Test func `Items on display are looked up, however far ahead they are`() async throws {
    try await withPlace(30) { place in
      place.player.play(place.media)
      let last = place.player.queue.items[29]
      place.player.lookUpTags(first: [last.id])
      place.hear()
      try await eventually("the tags are known") { place.player.itemTags.count == 21 }
      #expect(place.player.itemTags[last.id] == TagSamples.tags)
      #expect(place.requests(21) == 0 && place.requests(28) == 0)
    }
  }

  @Test func `An item's own tags are kept after it has played, and a new queue forgets them`()
    async throws
  {
    try await withPlace(reads: false) { place in
      let media = ["ok-20", "ok-30"].map(ScriptedEngine.media)
      place.player.play(media)
      let first = try #require(place.player.item)
      place.engine.take(.begin)
      place.engine.take(.metadata)
      place.player.next()
      #expect(place.player.itemTags == [first.id: MediaMetadata(title: "ok-20")])
      place.player.restore(place.player.session)
      #expect(place.player.itemTags.isEmpty)
    }
  }
}
