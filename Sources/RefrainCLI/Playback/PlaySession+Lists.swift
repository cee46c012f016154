// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  extension PlaySession {
    /// Returns what reads items that turn out to be lists (`Player.Configuration.readList`). Entries
    /// that do not play are noted.
    func readingLists(
      in cache: MediaCache
    ) -> @Sendable (Media, MediaCacheError) async throws -> [Media]? {
      let lists = ListedMedia(cache: cache)
      return { [weak self] item, failure in
        let expansion = try await lists.expansion(of: item, after: failure)
        return try await self?.take(expansion, of: item)
      }
    }

    /// Returns the media that take the place of an item.
    ///
    /// - Throws: `MediaCacheError` if nothing of the list plays.
    private func take(
      _ expansion: ArgumentExpansion, of item: Media
    ) throws(MediaCacheError) -> [Media] {
      for reason in expansion.skipped { note(printable(reason)) }
      if let failure = expansion.failure { throw failure }
      var media = expansion.media
      guard settings.output != nil, !media.isEmpty else { return media }
      // A player writes one file: the others of the list have players of their own.
      let refusal = item.refusal(ofListing: media.count, beside: waiting.count)
      if let refusal { throw refusal }
      media = item.listing(media)
      if settings.isShuffled { media.shuffle() }
      waiting.insert(contentsOf: media.dropFirst().map { [$0] }, at: 0)
      if settings.isShuffled { waiting.shuffle() }
      return [media[0]]
    }
  }

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
