// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  public import Refrain
  import Synchronization

  /// One resource being played by an `MPVEngine`, from its loading to its last event.
  public final class MPVPlayback: Sendable {
    public let resource: Resource

    /// What happens, to one consumer. The stream ends after the event that `isLast`.
    public let events: AsyncStream<PlaybackEvent>

    /// What the player was given so far. Stays readable after the playback is over.
    public var statistics: MediaReader.Statistics {
      let readers = state.withLock { $0.readers }
      // Readers of one resource see the same origin: the first has counted what all of them caused.
      var sum = readers.first?.statistics ?? MediaReader.Statistics()
      for reader in readers.dropFirst() {
        let one = reader.statistics
        sum.bytesRead += one.bytesRead
        sum.bytesFromDisk += one.bytesFromDisk
      }
      return sum
    }

    let loaded = ContinuousClock.now
    private let cache: MediaCache
    private let fill: FillPolicy
    private let continuation: AsyncStream<PlaybackEvent>.Continuation
    private let state = Mutex(State())

    private struct State {
      /// One for each time that mpv opened the stream: once, but for files that it opens anew.
      var readers: [MediaReader] = []
      var isOver = false
      /// What became of the last read. mpv takes an error for the end of the file now and then.
      var error: MediaCacheError?
    }

    init(resource: Resource, cache: MediaCache, fill: FillPolicy) {
      self.resource = resource
      self.cache = cache
      self.fill = fill
      (events, continuation) = AsyncStream.makeStream()
    }

    /// Says what happened; nothing more after the last event.
    func report(_ event: PlaybackEvent) {
      let wasOver = state.withLock { state in
        defer { state.isOver = state.isOver || event.isLast }
        return state.isOver
      }
      guard !wasOver else { return }
      continuation.yield(event)
      if event.isLast { continuation.finish() }
    }

    /// Why the last read failed; nil where it did not.
    var error: MediaCacheError? { state.withLock { $0.error } }

    /// Notes what became of a read. Cancelling is nothing to be reported.
    func note(_ error: (any Error)?) {
      guard !(error is CancellationError) else { return }
      state.withLock { $0.error = error.map(MediaCacheError.init(carrying:)) }
    }

    /// Opens a reader on a thread of mpv's, which waits for it. No request is made by that.
    func openReader() throws -> MediaReader {
      let opened = Handover<MediaReader>()
      Task { [cache, resource, fill] in
        do {
          opened.give(.success(try await cache.open(resource, fill: fill)))
        } catch {
          opened.give(.failure(error))
        }
      }
      let reader = try opened.wait().get()
      state.withLock { $0.readers.append(reader) }
      return reader
    }
  }

  /// Hands one result from a task to a thread that waits for it.
  private final class Handover<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let arrived = DispatchSemaphore(value: 0)

    func give(_ value: Result<Value, any Error>) {
      result.withLock { $0 = value }
      arrived.signal()
    }

    func wait() -> Result<Value, any Error> {
      arrived.wait()
      return result.withLock { $0 } ?? .failure(CancellationError())
    }
  }
#endif
