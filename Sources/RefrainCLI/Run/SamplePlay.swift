// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain

  /// `play --sample`: the tune from an origin on this computer, cold and then warm.
  struct SamplePlay: Sendable {
    var plays: Plays
    var options: GlobalOptions

    /// The origin's port differs each time; the key does not, so that one tune is kept, not many.
    private static let key = CacheKey(rawValue: "refrain:sample")

    func run() async throws {
      guard options.cache == nil else { return try await run(in: options.directory) }
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-sample-\(UUID().uuidString)", directoryHint: .isDirectory)
      defer { try? FileManager.default.removeItem(at: directory) }
      try await run(in: directory)
    }

    private func run(in directory: URL) async throws {
      let (plays, isJSON) = (plays, options.json)
      try await withCache(options, at: directory) { cache in
        let origin = try await SampleOrigin.start()
        do {
          try await Self.playTwice(origin, cache, plays, isJSON)
        } catch {
          await origin.stop()
          throw error
        }
        await origin.stop()
      }
    }

    private static func playTwice(
      _ origin: SampleOrigin, _ cache: MediaCache, _ plays: Plays, _ isJSON: Bool
    ) async throws {
      // What is left of an earlier time would make the first play a warm one.
      try await cache.remove(key)
      let tell: (String) throws -> Void = { if !isJSON { try Console.shared.print($0) } }
      let resource = Resource(url: origin.url, key: key)
      try tell(
        "The sample tune, \(ByteSize.text(origin.length)), from \(origin.url.absoluteString)")
      try tell("first play:   \(await plays.play(resource, from: cache).text)")
      let warm = try await plays.play(resource, from: cache)
      try tell("second play:  \(warm.text)")
      guard warm.bytesFromOrigin == 0 else {
        throw MediaCacheError(
          .storage, "The second play asked the origin for \(warm.bytesFromOrigin) bytes again.",
          remedy: "Give the cache room: 'refrain play --sample --limit 100M'.")
      }
      if origin.bytesSent == origin.length {
        try tell("The origin sent \(ByteSize.text(origin.bytesSent)) in all: every byte once.")
      }
    }
  }
#endif
