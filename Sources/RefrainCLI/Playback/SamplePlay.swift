// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer

  /// `play --sample`: the tune from an origin on this computer, cold and then warm.
  struct SamplePlay: Sendable {
    var options: GlobalOptions
    /// Whether it is watched on a screen; the origin is then slowed to make loading visible.
    var isWatched: Bool

    /// The origin's port differs each time; the key does not, so only one tune is stored.
    private static let key = CacheKey(rawValue: "refrain:sample")

    /// - Parameter makePlays: called once the cache is open.
    func run(_ makePlays: @escaping @MainActor @Sendable () -> PlaySession) async throws {
      guard options.cache == nil else { return try await run(in: options.directory, makePlays) }
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-sample-\(UUID().uuidString)", directoryHint: .isDirectory)
      defer { try? FileManager.default.removeItem(at: directory) }
      try await run(in: directory, makePlays)
    }

    private func run(
      in directory: URL, _ makePlays: @escaping @MainActor @Sendable () -> PlaySession
    ) async throws {
      let bytesPerSecond = isWatched ? 500_000 : nil
      try await withCache(options, at: directory) { cache in
        let origin = try await SampleOrigin.start(bytesPerSecond: bytesPerSecond)
        do {
          try await Self.playTwice(origin, cache, makePlays)
        } catch {
          await origin.stop()
          throw error
        }
        await origin.stop()
      }
    }

    @MainActor
    private static func playTwice(
      _ origin: SampleOrigin, _ cache: MediaCache, _ makePlays: @MainActor () -> PlaySession
    ) async throws {
      // Bytes stored by an earlier run would make the first play a warm one.
      try await cache.remove(key)
      let plays = makePlays()
      let result: Result<Void, any Error>
      do {
        result = .success(try await playTwice(origin, cache, plays))
      } catch {
        result = .failure(error)
      }
      try await plays.finish()
      try result.get()
      if plays.hasFailed { throw ExitCode.failure }
    }

    @MainActor
    private static func playTwice(
      _ origin: SampleOrigin, _ cache: MediaCache, _ plays: PlaySession
    ) async throws {
      var tune = Media(origin.url, key: key, title: "The sample tune")
      try plays.write(
        "The sample tune, \(ByteSize.text(origin.length)), from \(origin.url.absoluteString)")
      tune.artist = "cold: from the origin"
      var isWhole = false
      try await plays.play([tune], from: cache) { _, report in
        try plays.write("first play:   \(report.text)")
        isWhole = report.bytesFromOrigin == origin.length
      }
      tune.artist = "warm: from disk"
      var isWarm = false
      try await plays.play([tune], from: cache) { _, report in
        try plays.write("second play:  \(report.text)")
        // If the first play was interrupted, the second one fetches the rest.
        guard report.bytesFromOrigin == 0 || !isWhole else {
          throw MediaCacheError(
            .storage,
            "The second play fetched \(report.bytesFromOrigin) bytes from the origin again.",
            remedy: "Enlarge the cache: 'refrain play --sample --limit 100M'.")
        }
        isWarm = true
      }
      if isWarm, origin.bytesSent == origin.length {
        try plays.write(
          "The origin sent \(ByteSize.text(origin.bytesSent)) in all: every byte once.")
      }
    }
  }

  /// An origin on this computer with one tune.
  struct SampleOrigin: Sendable {
    private static let path = "/tune.wav"

    private let server: OriginServer

    var url: URL { server.url(Self.path) }

    /// The length of the tune in bytes.
    var length: Int64 { Int64(Tune.wav.count) }

    /// Bytes of the tune that the origin has sent so far.
    var bytesSent: Int64 { server.log(Self.path).bodyBytesSent }

    /// - Parameter bytesPerSecond: the sending rate; nil: no limit.
    static func start(bytesPerSecond: Int? = nil) async throws -> SampleOrigin {
      let server = try await OriginServer.start()
      var tune = Tune.resource
      // Fresh for a day: the second play need not revalidate it.
      tune.headers.append(Field("Cache-Control", "max-age=86400"))
      tune.bytesPerSecond = bytesPerSecond
      server.serve(tune, at: path)
      return SampleOrigin(server: server)
    }

    func stop() async { await server.stop() }
  }
#endif
