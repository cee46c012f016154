// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Dispatch
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import Refrain
  @testable import RefrainPlayer

  /// A station that is recorded, as libmpv's demuxer reads it.
  @MainActor
  @Suite(.timeLimit(.minutes(1)))
  struct RecordedStreamTests {
    /// Ogg in which no place is known at which a decoder can start.
    private static let speex: Data = {
      var data = oggPage(0, begins: true, Array("Speex   1.2".utf8)) + oggPage(0, [1])
      for number in 1...2500 as ClosedRange<Int64> {
        let digits = Array("\(number) ".utf8)
        data += oggPage(number * 16_000, (0..<700).map { digits[$0 % digits.count] })
      }
      return data
    }()

    private func serve(
      _ bytes: Data, _ listening: Listening, _ script: FaultScript, through cache: MediaCache? = nil
    ) -> MPVPlayback {
      listening.origin.serve(
        OriginResource(
          .bytes(bytes), contentType: "audio/mpeg", supportsRanges: false, declaresLength: false,
          headers: [Field("icy-name", "Radio Refrain"), Field("Cache-Control", "no-store")]),
        at: "/radio")
      listening.origin.script("/radio", script)
      let item = EngineItem(
        id: EngineItem.ID(rawValue: 1), media: Media(listening.origin.url("/radio")),
        fill: .onDemand, rewind: .seconds(7200))
      return MPVPlayback(item: item, cache: cache ?? listening.cache)
    }

    /// Responses that break off when the origin is told to: what it sends just before may be lost.
    private func breaking(_ requests: RequestMatcher, at count: Int) -> FaultScript {
      let place = BodyPosition.body(Int64(count))
      return .on(requests, .stall(at: place), .drop(at: place))
    }

    /// Reads from a stream until it has `count` bytes, or fails or ends. Blocks.
    private nonisolated static func read(_ stream: MPVStream, _ count: Int) -> Data {
      var data = Data()
      withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
        while data.count < count {
          let part = UnsafeMutableRawBufferPointer(
            rebasing: buffer[..<min(buffer.count, count - data.count)])
          let read = stream.read(into: part)
          guard read > 0 else { return }
          data.append(contentsOf: part[..<Int(read)])
        }
      }
      return data
    }

    @Test func `Neither length nor bytes of a recorded stream wait for a lost origin`()
      async throws
    {
      try await Listening.with { listening in
        let sent = NumberedFrames.mp3(0..<100)
        let playback = serve(
          NumberedFrames.mp3(0..<200), listening,
          breaking(.number(1), at: sent.count).on(.from(2), .delay(nil)))
        defer { playback.stopRecording() }
        let first = try await onThread {
          let stream = try MPVStream(of: playback)
          #expect(Self.read(stream, sent.count) == sent)
          return stream
        }
        defer { first.cancel() }
        try await listening.origin.wait(for: "/radio") { $0.stalled == 1 }
        listening.origin.release("/radio")
        try await listening.origin.wait(for: "/radio") { $0.requests.count == 2 }
        // As after a seek.
        let (size, bytes) = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          return (stream.size(), Self.read(stream, sent.count))
        }
        #expect(size == Int64(MPV_ERROR_UNSUPPORTED.rawValue) && bytes == sent)
      }
    }

    @Test func `A station that breaks off again and again has two readers at most`() async throws {
      try await Listening.with { listening in
        let length = 40 * SilentMP3.frameLength
        let playback = serve(
          NumberedFrames.mp3(0..<80), listening,
          breaking(.first(4), at: length).on(.from(5), .status(404)))
        defer { playback.stopRecording() }
        let stream = try await onThread { try MPVStream(of: playback) }
        defer { stream.cancel() }
        var bytes = Data()
        for _ in 1...4 {
          bytes += try await onThread { Self.read(stream, length) }
          try await listening.origin.wait(for: "/radio") { $0.stalled == 1 }
          listening.origin.release("/radio")
        }
        bytes += try await onThread { Self.read(stream, .max) }
        #expect(bytes.count == 4 * length)
        #expect(playback.error?.status == 404, "\(String(describing: playback.error))")
        let statistics = try #require(playback.statistics)
        #expect(statistics.bytesRead == Int64(bytes.count))
        #expect(statistics.bytesFromOrigin >= Int64(bytes.count))
        let readers = playback.readers
        try #require(readers.count == 2)
        await #expect(throws: CancellationError.self) {
          try await readers[0].contentInformation()
        }
      }
    }

    @Test func `A reader behind a recording that cannot be sought in goes on in what is left`()
      async throws
    {
      var configuration = MediaCache.Configuration()
      configuration.limit = 1 << 20
      try await Listening.with(configuration) { listening in
        let playback = serve(Self.speex, listening, .on(.all, .stall(at: .body(10_000))))
        defer { playback.stopRecording() }
        let stream = try await onThread { try MPVStream(of: playback) }
        defer { stream.cancel() }
        let first = try await onThread { Self.read(stream, 1000) }
        #expect(first == Self.speex.prefix(1000))
        let recording = try #require(playback.recording)
        try await listening.origin.wait(for: "/radio") { $0.stalled == 1 }
        listening.origin.release("/radio")
        try await eventually("what follows is dropped, and the station is over") {
          recording.hasDropped(1000) && recording.isOver
        }
        let rest = try await onThread { Self.read(stream, .max) }
        #expect(!rest.isEmpty && Self.speex.suffix(rest.count) == rest)
      }
    }

    @Test func `Nothing is recorded of an item that is over`() async throws {
      try await Listening.with { listening in
        let playback = serve(NumberedFrames.mp3(0..<80), listening, FaultScript())
        // As libmpv's thread does when an item ends while its first bytes are awaited.
        try await onThread {
          let reader = try playback.openReader()
          _ = try reader.contentInformationBlocking()
          playback.stopRecording()
          #expect(throws: CancellationError.self) {
            try playback.record(reader, keeping: .seconds(7200))
          }
          #expect(throws: CancellationError.self) { try reader.contentInformationBlocking() }
        }
        #expect(playback.recording == nil)
      }
    }

    @Test func `A station plays although there is no room for recording it`() async throws {
      try await Listening.with { listening in
        let cache = try MediaCache(
          directory: listening.directory.appending(path: "full"),
          configuration: MediaCache.Configuration(), disk: FullDisk(room: 0))
        let events = cache.events()
        let sent = NumberedFrames.mp3(0..<80)
        let playback = serve(sent, listening, FaultScript(), through: cache)
        let bytes = try await onThread {
          let stream = try MPVStream(of: playback)
          defer { stream.cancel() }
          return Self.read(stream, sent.count)
        }
        #expect(bytes == sent && playback.recording == nil && playback.isLive)
        for await event in events {
          if case .warning(let text) = event, text.contains("not recorded") { break }
        }
        await cache.close()
      }
    }
  }

  extension LiveRecording {
    /// Whether a byte was recorded, and is no longer.
    fileprivate func hasDropped(_ offset: Int64) -> Bool {
      withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
        switch read(into: buffer, at: offset, waiter: DispatchSemaphore(value: 0)) {
        case .dropped: true
        case .bytes, .wait, .end, .failed: false
        }
      }
    }
  }
#endif
