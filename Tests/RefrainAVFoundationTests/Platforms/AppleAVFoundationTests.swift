// SPDX-License-Identifier: MIT
#if canImport(AVFoundation)
  import AVFoundation
  import CoreMedia
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import TestSupport
  import Testing

  /// Apple's own AVFoundation over the cache, without a screen or a sound device.
  @Suite(.timeLimit(.minutes(3))) struct AppleAVFoundationTests {
    /// Two seconds of one channel of 16 bits, 44,100 samples a second.
    private static let sound: Data = {
      var sound = Data()
      for sample in 0..<88_200 {
        let value = Int16(truncatingIfNeeded: sample &* 7919)
        withUnsafeBytes(of: value.littleEndian) { sound.append(contentsOf: $0) }
      }
      return sound
    }()

    private static let file: Data = {
      var file = Data()
      func number(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { file.append(contentsOf: $0) }
      }
      file.append(contentsOf: "RIFF".utf8)
      number(UInt32(36 + sound.count))
      file.append(contentsOf: "WAVEfmt ".utf8)
      number(UInt32(16))
      number(UInt16(1))
      number(UInt16(1))
      number(UInt32(44_100))
      number(UInt32(88_200))
      number(UInt16(2))
      number(UInt16(16))
      file.append(contentsOf: "data".utf8)
      number(UInt32(sound.count))
      return file + sound
    }()

    private func withCache(
      isolation: isolated (any Actor)? = #isolation,
      _ body: (OriginServer, MediaCache, URL) async throws -> Void
    ) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-apple-\(UUID().uuidString)", directoryHint: .isDirectory)
      let origin = try await OriginServer.start()
      origin.serve(
        OriginResource(.bytes(Self.file), contentType: "audio/wav", etag: "\"sound\""),
        at: "/sound.wav")
      let cache = try MediaCache(directory: directory)
      var failure: (any Error)?
      do { try await body(origin, cache, origin.url("/sound.wav")) } catch { failure = error }
      await cache.close()
      await origin.stop()
      try FileManager.default.removeItem(at: directory)
      if let failure { throw failure }
    }

    /// Reads on a separate thread, because AVFoundation blocks it while the cache fetches.
    private func samples(of asset: AVURLAsset) async throws -> Data {
      let track = try #require(try await asset.loadTracks(withMediaType: .audio).first)
      let reader = try AVAssetReader(asset: asset)
      let output = AVAssetReaderTrackOutput(track: track, outputSettings: nil)
      reader.add(output)
      // Unsafe only by their types: only this thread uses them until it is done.
      nonisolated(unsafe) let (source, queue) = (reader, output)
      return try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(
            with: Result {
              guard source.startReading() else {
                throw source.error ?? CocoaError(.fileReadUnknown)
              }
              var samples = Data()
              while let buffer = queue.copyNextSampleBuffer() {
                guard let block = CMSampleBufferGetDataBuffer(buffer) else { continue }
                samples.append(try block.dataBytes())
              }
              guard source.status == .completed else {
                throw source.error ?? CocoaError(.fileReadUnknown)
              }
              return samples
            })
        }
      }
    }

    @Test func `AVAssetReader reads every sample, from the origin and then from disk`() async throws
    {
      try await withCache { origin, cache, url in
        for _ in 0..<2 {
          let samples = try await samples(of: cache.asset(for: url))
          #expect(samples == Self.sound)
        }
        let log = try await origin.wait(for: "/sound.wav") { $0.running == 0 }
        #expect(log.bytesSentTwice == 0)
      }
    }

    @Test @MainActor func `AVQueuePlayer plays a cached asset to its end`() async throws {
      try await withCache { _, cache, url in
        let item = AVPlayerItem(asset: cache.asset(for: url))
        let player = AVQueuePlayer(items: [item])
        player.automaticallyWaitsToMinimizeStalling = false
        player.actionAtItemEnd = .pause
        player.volume = 0
        player.play()
        try await eventually("it is ready, \(String(describing: item.error))") {
          item.status != .unknown
        }
        #expect(item.status == .readyToPlay)
        #expect(abs(item.duration.seconds - 2) < 0.01)
        try await eventually("it plays to its end, and is at \(player.currentTime().seconds)") {
          player.currentTime().seconds >= 1.99
        }
        player.removeAllItems()
      }
    }
  }
#endif
