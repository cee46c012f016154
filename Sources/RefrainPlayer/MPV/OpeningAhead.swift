// SPDX-License-Identifier: MIT
#if os(Linux)
  package import Refrain
  import RefrainLocks

  /// The opening of the media that an engine is to play first, with the request for its first
  /// bytes, while libmpv is still being started.
  ///
  /// The engine's stream takes over the reader, so nothing is requested twice, and a failure is the
  /// stream's. Releasing it before that ends the request.
  package final class OpeningAhead: Sendable {
    let resource: Resource
    let fill: FillPolicy
    private let opening: Task<MediaReader, any Error>
    private let beginning: Task<Void, Never>
    private let outcome: Outcome

    /// What became of the opening.
    private final class Outcome: Sendable {
      let failure = Mutex<MediaCacheError?>(nil)
      let ending = Mutex(Ending.pending)
    }

    private enum Ending {
      case pending, taken, ended
    }

    /// Opens the media and requests its first bytes, unless they are stored. Returns nil for media
    /// that libmpv does not read through the cache at once: files, and manifests of streams.
    /// Requests nothing if libmpv cannot be loaded, and nothing can play.
    ///
    /// - Parameter fill: that of the player.
    package init?(_ media: Media, in cache: MediaCache, fill: FillPolicy = .wholeResource) {
      guard let resource = media.resource, !StreamLookup.isNamed(media) else { return nil }
      let outcome = Outcome()
      let opening = Task {
        try await IOThreads.background.run { _ = try MPVLibrary.load() }
        return try await cache.open(resource, fill: fill)
      }
      (self.resource, self.fill) = (resource, fill)
      (self.outcome, self.opening) = (outcome, opening)
      beginning = Task {
        do {
          _ = try await opening.value.waitUntilReadable(at: 0)
        } catch let error as MediaCacheError {
          outcome.failure.withLock { $0 = error }
        } catch {
          // Nobody wants it any more, or libmpv is missing, which starting it reports.
        }
      }
    }

    deinit { end() }

    /// Ends the opening and its request, unless its reader was taken over.
    func end() {
      let isFirst = outcome.ending.withLock { ending in
        defer { if ending == .pending { ending = .ended } }
        return ending == .pending
      }
      guard isFirst else { return }
      opening.cancel()
      beginning.cancel()
      // It may have been opened by now.
      Task { [opening] in (try? await opening.value)?.cancel() }
    }

    /// Why the first bytes cannot be read; nil: it is not known that they cannot.
    var failure: MediaCacheError? { outcome.failure.withLock { $0 } }

    /// Whether it opens what an item plays.
    func fits(_ item: EngineItem) -> Bool {
      item.streamURL == nil && item.media.resource == resource && item.fill == fill
    }

    /// Returns the reader, which is the caller's from then on. Does not wait for bytes.
    ///
    /// - Throws: the error of the first bytes, if they have failed by now; `CancellationError`, also
    ///   if the opening has ended.
    func take() async throws -> MediaReader {
      let reader = try await withTaskCancellationHandler {
        try await opening.value
      } onCancel: {
        end()
      }
      // The caller decides where the reader reads: no look at the first byte may come later, which
      // could request it again. The request goes on.
      beginning.cancel()
      await beginning.value
      if let failure { throw failure }
      let isTaken = outcome.ending.withLock { ending in
        if ending == .pending { ending = .taken }
        return ending == .taken
      }
      guard isTaken else { throw CancellationError() }
      return reader
    }
  }
#endif
