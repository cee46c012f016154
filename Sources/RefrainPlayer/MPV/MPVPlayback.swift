// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import Foundation
  import Refrain
  import RefrainLocks

  /// One item as libmpv plays it: the readers opened for it, and their results.
  final class MPVPlayback: Sendable {
    let item: EngineItem
    let cache: MediaCache
    private let state = Mutex(State())

    private struct State {
      var readings = StreamReadings()
      /// The opening from which the first reader is taken over.
      var ahead: OpeningAhead?
      /// The waits for tasks on threads of mpv.
      var waits: [UInt64: Task<Void, Never>] = [:]
      var lastWait: UInt64 = 0
      var streams: [Weak<MPVStream>] = []
      var failures = StreamFailures()
      /// The error while the origin cannot be reached.
      var absence: MediaCacheError?
      var isHeard = false
      var isToldLive = false
      /// Of a stream (HLS, DASH).
      var stream = StreamState()
      var live = MPVLive()
      /// Whether the item is no longer in libmpv's list: nothing is opened for it any more.
      var isForgotten = false
      var hasGrowingDuration = false
      /// Called when `absence` has changed.
      var changed: (@Sendable () -> Void)?
    }

    /// - Parameter ahead: the opening of the item's media, if that has begun already.
    init(item: EngineItem, cache: MediaCache, ahead: OpeningAhead? = nil) {
      self.item = item
      self.cache = cache
      state.withLock { $0.ahead = ahead }
    }

    // MARK: What the listener knows

    /// Whether the item was heard: from then on, a read waits for a lost network.
    var isHeard: Bool {
      get { state.withLock { $0.isHeard } }
      set { state.withLock { $0.isHeard = newValue } }
    }

    /// Whether the item was reported as live.
    var isToldLive: Bool {
      get { state.withLock { $0.isToldLive } }
      set { state.withLock { $0.isToldLive = newValue } }
    }

    /// Whether libmpv's duration only states how far it has read.
    var hasGrowingDuration: Bool {
      get { state.withLock { $0.hasGrowingDuration } }
      set { state.withLock { $0.hasGrowingDuration = newValue } }
    }

    var statistics: MediaReader.Statistics? { state.withLock { $0.readings }.statistics }

    // MARK: What reading came to

    /// The error of requested bytes that are missing; nil if none are. The end that libmpv reports
    /// is the end of the media only if this is nil.
    var error: MediaCacheError? { state.withLock { $0.failures.error } }

    /// Whether the origin has refused the byte at `offset`, or the whole resource, for good. libmpv
    /// opens a stream and reads from it several times, once per format that it tries; the origin
    /// is asked once, until the item is loaded again.
    func hasRefused(at offset: Int64) -> Bool {
      state.withLock { $0.failures.refusal(at: offset) != nil }
    }

    /// Records that the byte at `offset` could not be read. A cancelled read is no failure.
    func fail(at offset: Int64, _ error: any Error) {
      guard !(error is CancellationError) else { return }
      state.withLock { $0.failures.fail(at: offset, MediaCacheError(carrying: error)) }
    }

    /// Records that these bytes were read.
    func succeed(in range: Range<Int64>) {
      state.withLock { $0.failures.succeed(in: range) }
    }

    /// The error while a read waits for an origin that cannot be reached.
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

    /// Whether the stream is live or cannot be read again: it can only seek in what libmpv keeps.
    var isLive: Bool {
      let (isKnown, reader) = state.withLock {
        ($0.stream.isLive || $0.isToldLive, $0.readings.last)
      }
      return isKnown || reader?.isPassing == true
    }

    /// What libmpv keeps of a live stream.
    func withLive<Result>(_ body: (inout MPVLive) -> Result) -> Result {
      state.withLock { body(&$0.live) }
    }

    /// Whether one can seek in the item although it is live.
    var canRewind: Bool { withLive { $0.window != nil } }

    /// Records that libmpv has read up to a position, and the title of its last byte, if titles are
    /// those of what is heard.
    ///
    /// - Parameter start: the position at which the reader begins.
    func noteTitle(of reader: MediaReader, from start: Int64, readTo position: Int64) {
      guard item.rewind != nil else { return }
      var title = reader.streamTitle(at: position - 1 - start)
      title?.offset += start
      withLive { [title] in $0.titles.note(title, readTo: position) }
    }

    /// Records the duration that a stream's manifest states; nil: it is live.
    func openedStream(lasting duration: Duration?) {
      state.withLock { state in
        state.stream.isLive = duration == nil
        state.stream.end = duration
        // libmpv's duration then states how far it has read.
        if duration == nil { state.hasGrowingDuration = true }
      }
    }

    /// Records that playback has reached a position, or is to begin or continue there.
    func noteStream(position: Duration) { state.withLock { $0.stream.position = position } }

    /// Whether a stream has not come to the end that its manifest states.
    var isStreamIncomplete: Bool { state.withLock { $0.stream.isIncomplete } }

    /// Whether libmpv cannot know where the stream ends.
    var isOpenEnded: Bool {
      let information = state.withLock { $0.readings.last }?.knownInformation
      return information.map { $0.length == nil } ?? false
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

    /// Prepares the streams for a seek of the listener.
    func expectSeek() {
      for stream in state.withLock({ $0.streams }) { stream.value?.expectSeek() }
    }

    /// Interrupts waiting reads, whose position is no longer wanted.
    func interruptReads() {
      for stream in state.withLock({ $0.streams }) { stream.value?.interrupt() }
    }

    /// Records that the item is in libmpv's list.
    func enter() { state.withLock { $0.isForgotten = false } }

    /// Records that the item is no longer in libmpv's list.
    func leave() { state.withLock { $0.isForgotten = true } }

    /// Opens a reader, without a request; the first one may have been opened ahead. Blocks the
    /// calling thread, which is one of mpv's.
    func openReader() throws -> MediaReader {
      guard let resource = item.media.resource else {
        throw MediaCacheError(.badURL, "A file is not read through the cache.")
      }
      // A cancelled task might still succeed, and leave a reader that nobody releases.
      guard !state.withLock({ $0.isForgotten }) else { throw CancellationError() }
      let (cache, fill) = (cache, item.fill)
      let ahead = takeAhead()
      let reader = try waiting {
        if let reader = try await ahead?.take() { return reader }
        return try await cache.open(resource, fill: fill)
      }
      add(reader)
      return reader
    }

    /// Runs `body` in a task, and returns its result. Blocks the calling thread, which is one of
    /// mpv's.
    ///
    /// - Throws: the task's error; `CancellationError` after `cancelWaits()`, where it ends the
    ///   task, and while the item is not in libmpv's list.
    func waiting<Value: Sendable>(
      _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
      let done = Handover<Value>()
      let task = Task {
        do {
          done.give(.success(try await body()))
        } catch {
          done.give(.failure(error))
        }
      }
      let number = state.withLock { state in
        state.lastWait += 1
        state.waits[state.lastWait] = task
        // Nobody would cancel it any more.
        if state.isForgotten { task.cancel() }
        return state.lastWait
      }
      defer { state.withLock { _ = $0.waits.removeValue(forKey: number) } }
      return try done.wait().get()
    }

    private func takeAhead() -> OpeningAhead? {
      state.withLock { state in
        defer { state.ahead = nil }
        return state.ahead
      }
    }

    /// Cancels what threads of mpv wait for, and an opening ahead that was not used. mpv itself
    /// cannot interrupt a stream before it is open.
    func cancelWaits() {
      takeAhead()?.end()
      for task in state.withLock({ Array($0.waits.values) }) { task.cancel() }
    }

    var readers: [MediaReader] { state.withLock { $0.readings.readers } }

    func add(_ reader: MediaReader) { state.withLock { $0.readings.add(reader) } }

    /// Cancels a reader, which ends its waits and requests.
    func release(_ reader: MediaReader) {
      reader.cancel()
      state.withLock { $0.readings.end(reader) }
    }
  }

  /// What is known of a stream (HLS, DASH). A pure value.
  private struct StreamState: Sendable {
    /// The end that its manifest states.
    var end: Duration?
    var isLive = false
    var position = Duration.zero

    /// The durations of segments are rounded, and positions are reported late.
    private static let tolerance = Duration.seconds(10)

    var isIncomplete: Bool { end.map { position + Self.tolerance < $0 } ?? false }
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
