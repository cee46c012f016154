// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks

/// A decoder's result for a file from the origin itself: the expected result through the proxy.
/// Computed once per test run.
enum Reference {
  private struct Key: Hashable {
    var decoder: Decoder
    var media: Media
    var start: Int?
  }

  static func decoded(
    _ media: Media, by decoder: Decoder, from start: Int? = nil
  ) async throws -> Decoded {
    let decoding = known.withLock { known in
      let key = Key(decoder: decoder, media: media, start: start)
      if let decoding = known[key] { return decoding }
      let decoding = Task {
        let origin = try await OriginServer.start()
        origin.serve(try await media.resource(), at: "/" + media.name)
        let decoded = await Task {
          try await decoder.decode(
            origin.url("/" + media.name), from: start, hasVideo: media.hasVideo)
        }.result
        await origin.stop()
        return try decoded.get()
      }
      known[key] = decoding
      return decoding
    }
    return try await decoding.value
  }

  private static let known = Mutex<[Key: Task<Decoded, any Error>]>([:])
}
