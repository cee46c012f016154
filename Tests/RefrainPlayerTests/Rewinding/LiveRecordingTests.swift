// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import Refrain
  @testable import RefrainPlayer

  /// The recording of a station on disk.
  @MainActor
  @Suite(.timeLimit(.minutes(1)))
  struct LiveRecordingTests {
    private static let frame = Int64(SilentMP3.frameLength)

    private func station(_ frames: Range<Int>) -> OriginResource {
      OriginResource(
        .bytes(NumberedFrames.mp3(frames)), contentType: "audio/mpeg", supportsRanges: false,
        declaresLength: false,
        headers: [Field("icy-name", "Radio Refrain"), Field("Cache-Control", "no-store")])
    }

    /// Records a station of `frames` frames.
    private func withRecording(
      of frames: Int, keeping rewind: Duration, limit: Int64? = nil,
      on disk: any Disk = SystemDisk(), script: FaultScript? = nil,
      _ body: (LiveRecording, ScratchFile) async throws -> Void
    ) async throws {
      var configuration = MediaCache.Configuration()
      if let limit { configuration.limit = limit }
      try await Listening.with(configuration) { listening in
        listening.origin.serve(station(0..<frames), at: "/radio")
        // The station goes off the air, unless the script says otherwise.
        listening.origin.script("/radio", script ?? .on(.from(2), .status(404)))
        let url = listening.origin.url("/radio")
        let cache = try MediaCache(
          directory: listening.directory.appending(path: "recorded"), configuration: configuration,
          disk: disk)
        let file = try await IOThreads.shared.run { try cache.makeScratchFile() }
        let recording = LiveRecording(
          try await cache.open(url), keeping: rewind, in: file, blockSize: 16 << 10)
        recording.start { _ in try await cache.open(url) }
        let result: Result<Void, any Error>
        do {
          result = .success(try await body(recording, file))
        } catch {
          result = .failure(error)
        }
        recording.cancel()
        await cache.close()
        try result.get()
      }
    }

    /// Reads until the recording ends, or `count` bytes are read; returns nil if the first byte was
    /// dropped.
    private func read(
      _ recording: LiveRecording, from start: Int64, count: Int = .max
    ) async throws -> Data? {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 10_000, alignment: 16)
      defer { buffer.deallocate() }
      let waiter = DispatchSemaphore(value: 0)
      var data = Data()
      while data.count < count {
        let offset = start + Int64(data.count)
        let part = UnsafeMutableRawBufferPointer(
          rebasing: buffer[..<min(buffer.count, count - data.count)])
        switch recording.read(into: part, at: offset, waiter: waiter) {
        case .bytes(let count): data.append(contentsOf: buffer[..<count])
        case .wait: try await Task.sleep(for: .milliseconds(1))
        case .dropped: return nil
        case .end, .failed: return data
        }
      }
      return data
    }

    private func end(of recording: LiveRecording) async throws -> Duration {
      var last: LiveWindow?
      try await eventually("the recording is over") {
        last = recording.window
        return recording.isOver
      }
      return try #require(last).end
    }

    @Test func `What was sent is read, byte for byte, while it is recorded and later`() async throws
    {
      try await withRecording(of: 5000, keeping: .seconds(7200)) { recording, _ in
        let sent = NumberedFrames.mp3(0..<5000)
        let isSame = try await read(recording, from: 0, count: sent.count) == sent
        #expect(isSame)
        let part = try await read(recording, from: 1_234_567, count: 100_000)
        #expect(part == sent[1_234_567..<1_334_567])
        let window = try #require(recording.window)
        #expect(window.start == .zero)
        #expect(abs((window.end - NumberedFrames.frame * 5000).inSeconds) < 0.001)
      }
    }

    @Test func `The ring on disk is no longer than what it keeps`() async throws {
      try await withRecording(of: 20_000, keeping: .seconds(20)) { recording, file in
        var most: Int64 = 0
        try await eventually("the recording is over") {
          most = max(most, recording.ringSize)
          return recording.isOver
        }
        let kept = Int64(SilentMP3.bytesPerSecond * 20)
        #expect(most > kept / 2 && most <= kept + 3 * (16 << 10))
        #expect(file.reservedBytes == recording.ringSize)
        let window = try #require(recording.window)
        #expect((19.5...20).contains((window.end - window.start).inSeconds))
        try await #expect(read(recording, from: 0) == nil)
        // A position leads to the frame of that time.
        for position in [window.start, window.start + .seconds(7), window.live] {
          let place = try #require(recording.place(at: position))
          let start = try await #require(read(recording, from: place.point.offset, count: 417))
          let number = try #require(NumberedFrames.number(start))
          #expect(place.point.offset == Int64(number) * Self.frame && place.header == [])
          #expect(abs((NumberedFrames.frame * number - place.point.time).inSeconds) < 0.001)
          #expect((0...0.28).contains((position - place.point.time).inSeconds))
        }
        // What is older than the ring leads to its start.
        #expect(recording.place(at: .zero)?.point.time == window.start)
      }
    }

    @Test func `The ring takes at most half of the cache's limit`() async throws {
      try await withRecording(of: 10_000, keeping: .seconds(7200), limit: 1 << 20) { recording, _ in
        let end = try await end(of: recording)
        #expect(recording.ringSize <= 512 << 10 && recording.ringSize > 400 << 10)
        #expect(abs((end - NumberedFrames.frame * 10_000).inSeconds) < 0.001)
        let window = try #require(recording.window)
        let place = try #require(recording.place(at: window.start))
        let rest = try await #require(read(recording, from: place.point.offset))
        #expect(NumberedFrames.mp3(0..<10_000).suffix(rest.count) == rest)
      }
    }

    @Test func `A full disk shortens what is recorded, and does not end it`() async throws {
      let disk = FullDisk(room: 200_000)
      try await withRecording(of: 5000, keeping: .seconds(7200), on: disk) { recording, _ in
        let end = try await end(of: recording)
        #expect(abs((end - NumberedFrames.frame * 5000).inSeconds) < 0.001)
        #expect(recording.ringSize == 12 * (16 << 10))
        let window = try #require(recording.window)
        let place = try #require(recording.place(at: window.start))
        let rest = try await #require(read(recording, from: place.point.offset))
        #expect(rest.count > 150_000 && NumberedFrames.mp3(0..<5000).suffix(rest.count) == rest)
      }
    }

    @Test func `A recording goes on after its connection broke off`() async throws {
      let cut = 1000 * Self.frame + 200
      let script = FaultScript.on(.number(1), .drop(at: .body(cut)))
        .on(.from(2), .answerFrom(station(3000..<4000)))
      try await withRecording(
        of: 2000, keeping: .seconds(7200), script: script
      ) { recording, _ in
        try await eventually("it goes on") {
          recording.window.map { $0.end > NumberedFrames.frame * 1990 } ?? false
        }
        let count = Int(cut) + 1000 * SilentMP3.frameLength
        let sent = NumberedFrames.mp3(0..<2000).prefix(Int(cut)) + NumberedFrames.mp3(3000..<4000)
        try await #expect(read(recording, from: 0, count: count) == sent)
        // Positions beyond it lead to whole frames again.
        let place = try #require(recording.place(at: NumberedFrames.frame * 1500))
        let start = try await #require(read(recording, from: place.point.offset, count: 417))
        #expect(try #require(NumberedFrames.number(start)) >= 3000)
      }
    }
  }

  extension LiveRecording {
    /// Whether nothing more is recorded.
    var isOver: Bool {
      var byte: UInt8 = 0
      return withUnsafeMutableBytes(of: &byte) { buffer in
        switch read(into: buffer, at: .max / 2, waiter: DispatchSemaphore(value: 0)) {
        case .end, .failed: true
        case .bytes, .dropped, .wait: false
        }
      }
    }
  }
#endif
