// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainPlayer

/// Recordings of the streams that an engine plays now or next.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct StreamRecordingsTests {
  /// What the player does with its recordings, by the names of the streams.
  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func note(_ line: String) { lines.withLock { $0.append(line) } }

    func record(_ stream: Resource) -> RecordedStream {
      let name = stream.url.lastPathComponent
      note("record \(name)")
      return RecordedStream(
        url: stream.url, window: { nil }, start: { nil },
        begin: { _ in
          self.note("begin \(name)")
          return nil
        }, stop: { self.note("stop \(name)") })
    }
  }

  private func item(_ id: UInt64, _ url: URL) -> EngineItem {
    EngineItem(id: EngineItem.ID(rawValue: id), media: Media(url), rewind: .seconds(60))
  }

  private func with(
    _ body: (OriginServer, ScriptedEngine, StreamEngine, Log) async throws -> Void
  ) async throws {
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-recordings-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    let cache = try MediaCache(directory: directory)
    let (engine, log) = (ScriptedEngine(), Log())
    engine.capabilities.rewind = true
    let streams = StreamEngine(
      engine, cache: cache, streamURL: { $0.url }, recordStream: { stream, _ in log.record(stream) }
    )
    var failure: (any Error)?
    do { try await body(origin, engine, streams, log) } catch { failure = error }
    await streams.close()
    await cache.close()
    await origin.stop()
    if let failure { throw failure }
  }

  @Test func `A stream that is loaded again keeps its recording, and another one ends it`()
    async throws
  {
    try await with { origin, engine, streams, log in
      let (one, two) = (
        SilentStream(isLive: true).serve(on: origin, as: "one.m3u8"),
        SilentStream(isLive: true).serve(on: origin, as: "two.m3u8")
      )
      streams.load(item(1, one), at: .zero, isPaused: false)
      try await eventually("it is loaded") { engine.current?.item.id.rawValue == 1 }
      #expect(engine.current?.item.recordedStream != nil)
      streams.load(item(2, one), at: .zero, isPaused: false)
      try await eventually("it is loaded again") { engine.current?.item.id.rawValue == 2 }
      #expect(log.all == ["record one.m3u8", "begin one.m3u8"])
      streams.load(item(3, two), at: .zero, isPaused: false)
      try await eventually("the other one is loaded") { engine.current?.item.id.rawValue == 3 }
      #expect(log.all.dropFirst(2) == ["stop one.m3u8", "record two.m3u8"])
      await streams.close()
      #expect(log.all.last == "stop two.m3u8")
    }
  }

  @Test func `The same stream as the following item does not move what plays`() async throws {
    try await with { origin, engine, streams, log in
      let url = SilentStream(isLive: true).serve(on: origin, as: "one.m3u8")
      streams.load(item(1, url), at: .zero, isPaused: false)
      try await eventually("it is loaded") { engine.current != nil }
      streams.follow(with: item(2, url))
      try await eventually("it follows") { engine.next != nil }
      #expect(log.all == ["record one.m3u8"])
    }
  }

  @Test func `A following stream that is not wanted any more is not recorded further`()
    async throws
  {
    try await with { origin, engine, streams, log in
      let url = SilentStream(isLive: true).serve(on: origin, as: "one.m3u8")
      streams.load(item(1, origin.url("/song.mp3")), at: .zero, isPaused: false)
      streams.follow(with: item(2, url))
      try await eventually("it follows") { engine.next != nil }
      streams.follow(with: nil)
      #expect(log.all == ["record one.m3u8", "stop one.m3u8"])
    }
  }
}
