// SPDX-License-Identifier: MIT
#if os(Linux)
  package import Refrain
  import RefrainLocks

  /// The opening of the media that an engine is to play first, with the request for its first
  /// bytes, while libmpv is still being loaded and started.
  ///
  /// The engine's stream takes over the reader, so that nothing is requested twice and the reader's
  /// statistics are the item's. A failure becomes the stream's: a refused resource is not requested
  /// again. Until the reader is taken over, the request goes on; `end()`, or releasing the last
  /// reference, ends it.
  package final class OpeningAhead: Sendable {
    /// As an engine receives it.
    private let resource: Resource
    private let fill: FillPolicy
    private let opening: Task<MediaReader, any Error>
    private let response: Task<Void, Never>
    private let progress: Progress

    /// What has become of it; the tasks know it without keeping the opening.
    private final class Progress: Sendable {
      struct Outcome {
        /// Why nothing can be read.
        var failure: MediaCacheError?
        /// Whether the reader was taken over, or the opening has ended.
        var isOver = false
      }

      let state = Mutex(Outcome())

      /// Records that the reader is taken over, or the opening ends. Returns whether it is the first.
      func end() -> Bool {
        state.withLock { state in
          defer { state.isOver = true }
          return !state.isOver
        }
      }
    }

    /// Opens the media and requests its first bytes, unless they are stored. Returns at once. Nil
    /// for media that libmpv does not read through the cache itself: files, and manifests of
    /// streams.
    ///
    /// - Parameter fill: that of the item.
    package init?(_ media: Media, in cache: MediaCache, fill: FillPolicy = .wholeResource) {
      // With the header that a player adds for its engine: another resource would not fit the item.
      guard let resource = media.asEngineMedia.resource, !media.isNamedStream else { return nil }
      let progress = Progress()
      (self.resource, self.fill, self.progress) = (resource, fill, progress)
      let opening = Task { try await cache.open(resource, fill: fill) }
      self.opening = opening
      response = Task {
        do {
          let reader = try await opening.value
          do {
            // What is known of the resource may be stored without its first bytes.
            _ = try await reader.waitUntilReadable(at: 0)
          } catch let error as MediaCacheError {
            progress.state.withLock { $0.failure = error }
            // Filling would request it again after a while.
            reader.cancel()
          }
        } catch {
          // The opening has ended, or its error reaches whoever takes it over.
        }
      }
    }

    deinit { end() }

    /// Whether it opens what an item plays.
    func fits(_ item: EngineItem) -> Bool {
      item.streamURL == nil && item.media.resource == resource && item.fill == fill
    }

    /// Why nothing can be read; nil: it is not known that nothing can.
    var failure: MediaCacheError? { progress.state.withLock { $0.failure } }

    /// Returns the reader, which is the caller's from then on; nil if it was taken over before, or
    /// the opening has ended. Waits for the first byte, without which libmpv cannot begin either: a
    /// refusal is known then, and is not requested again.
    ///
    /// - Throws: the error of the opening or of the response; `CancellationError`.
    func take() async throws -> MediaReader? {
      guard progress.end() else { return nil }
      let reader = try await withTaskCancellationHandler {
        let reader = try await opening.value
        await response.value
        return reader
      } onCancel: {
        opening.cancel()
        response.cancel()
      }
      do {
        try Task.checkCancellation()
        if let failure { throw failure }
        return reader
      } catch {
        reader.cancel()
        throw error
      }
    }

    /// Ends the opening and its request, unless the reader was taken over.
    func end() {
      guard progress.end() else { return }
      opening.cancel()
      response.cancel()
      // It may be open by now.
      Task { [opening] in (try? await opening.value)?.cancel() }
    }
  }
#endif
