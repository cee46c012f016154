// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  /// Reads items of the queue that turn out to be lists when they play: under a name of media, only
  /// their content shows it.
  struct ListedMedia: Sendable {
    private let reading: ListReading
    private let diagnosis: Diagnosis

    init(cache: MediaCache) {
      reading = ListReading(cache: cache)
      diagnosis = Diagnosis(cache: cache)
    }

    /// Returns what an item lists, by the rules of arguments.
    ///
    /// - Parameter failure: why the item could not be played.
    /// - Throws: `MediaCacheError`, the reason to report, if the item is no list, or the list cannot
    ///   be read; `CancellationError`.
    func expansion(
      of item: Media, after failure: MediaCacheError
    ) async throws -> ArgumentExpansion {
      guard let (list, identity) = try await reading.list(playedAs: item) else {
        throw await diagnosis.error(failure, of: item)
      }
      return try await ArgumentExpansion(
        of: list, identity: identity, playedAs: item, by: reading)
    }
  }
#endif
