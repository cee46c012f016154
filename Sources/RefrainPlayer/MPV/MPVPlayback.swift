// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import Foundation
  import Refrain
  import Synchronization

  /// One item as libmpv plays it: the readers that it was given, and what became of them.
  final class MPVPlayback: Sendable {
    let item: EngineItem
    private let cache: MediaCache
    private let state = Mutex(State())

    private struct State {
      /// One for each time that a stream was opened, or opened anew.
      var readers: [MediaReader] = []
      var streams: [Weak<MPVStream>] = []
      var failures = StreamFailures()
      /// Why the origin cannot be reached just now.
      var absence: MediaCacheError?
      var isHeard = false
      var isToldLive = false
      var hasGrowingDuration = false
      /// Told when `absence` has changed.
      var changed: (@Sendable () -> Void)?
    }

    init(item: EngineItem, cache: MediaCache) {
      self.item = item
      self.cache = cache
    }

    // MARK: What the listener knows

    /// Sound has come: from here on a network that goes is waited for.
    var isHeard: Bool {
      get { state.withLock { $0.isHeard } }
      set { state.withLock { $0.isHeard = newValue } }
    }

    /// The engine was told that it is live.
    var isToldLive: Bool {
      get { state.withLock { $0.isToldLive } }
      set { state.withLock { $0.isToldLive = newValue } }
    }

    /// libmpv's length in time is only how far it has read.
    var hasGrowingDuration: Bool {
      get { state.withLock { $0.hasGrowingDuration } }
      set { state.withLock { $0.hasGrowingDuration = newValue } }
    }

    var statistics: MediaReader.Statistics? {
      let readers = state.withLock { $0.readers }
      // Readers of one resource see the same origin: the first has counted what all of them caused.
      guard var sum = readers.first?.statistics else { return nil }
      for reader in readers.dropFirst() { sum.bytesRead += reader.statistics.bytesRead }
      // What two of them read is one part of the resource.
      sum.bytesFromDisk = readers.reduce(into: RangeSet<Int64>()) {
        $0.formUnion($1.spansReadFromDisk)
      }.ranges.reduce(0) { $0 + Int64($1.count) }
      return sum
    }

    // MARK: What reading came to

    /// Why bytes are missing that libmpv asked for; nil where none are. An end that libmpv reports is
    /// the end of the media only where this is nil.
    var error: MediaCacheError? { state.withLock { $0.failures.error } }

    /// Records that the byte at `offset` could not be read. A cancelled read is no failure.
    func fail(at offset: Int64, _ error: any Error) {
      guard !(error is CancellationError) else { return }
      state.withLock { $0.failures.fail(at: offset, MediaCacheError(carrying: error)) }
    }

    /// Records that these bytes were read.
    func succeed(in range: Range<Int64>) {
      state.withLock { $0.failures.succeed(in: range) }
    }

    /// Why the origin cannot be reached, while a read waits for that to pass.
    var absence: MediaCacheError? {
      get { state.withLock { $0.absence } }
      set {
        let changed = state.withLock { state -> (@Sendable () -> Void)? in
          guard state.absence != newValue else { return nil }
          state.absence = newValue
          return state.changed
        }
        changed?()
      }
    }

    func onAbsence(_ changed: @escaping @Sendable () -> Void) {
      state.withLock { $0.changed = changed }
    }

    // MARK: What the stream is

    /// Whether the stream passes by, as a station's does: nothing of it can be sought.
    var isLive: Bool { state.withLock { $0.readers.last }?.isPassing == true }

    /// Whether libmpv cannot know where the stream ends.
    var isOpenEnded: Bool {
      state.withLock { $0.readers.last }.map { $0.hasKnownLength == false } ?? false
    }

    // MARK: Streams

    func opened(_ stream: MPVStream) {
      state.withLock { state in
        state.streams.removeAll { $0.value == nil }
        state.streams.append(Weak(value: stream))
      }
    }

    /// Whether mpv waits for bytes.
    var isReading: Bool {
      state.withLock { $0.streams }.contains { $0.value?.isReading == true }
    }

    /// A listener is about to seek.
    func expectSeek() {
      for stream in state.withLock({ $0.streams }) { stream.value?.expectSeek() }
    }

    /// Has reads that wait give up, for they are not wanted where they are any more.
    func interruptReads() {
      for stream in state.withLock({ $0.streams }) { stream.value?.interrupt() }
    }

    /// Opens a reader on a thread of mpv's, which waits for it. No request is made by that.
    func openReader() throws -> MediaReader {
      guard let resource = item.media.resource else {
        throw MediaCacheError(.badURL, "A file is not read through the cache.")
      }
      let opened = Handover<MediaReader>()
      let (cache, fill) = (cache, item.fill)
      Task {
        do {
          opened.give(.success(try await cache.open(resource, fill: fill)))
        } catch {
          opened.give(.failure(error))
        }
      }
      let reader = try opened.wait().get()
      add(reader)
      return reader
    }

    func add(_ reader: MediaReader) { state.withLock { $0.readers.append(reader) } }
  }

  private struct Weak<Value: AnyObject & Sendable>: Sendable {
    weak var value: Value?
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
