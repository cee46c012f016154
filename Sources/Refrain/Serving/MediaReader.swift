// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// One consumer's view of an entry: a player, a request of a proxy, a tool.
///
/// A reader sees one generation of the resource from its first byte on. Its read position decides
/// what is fetched: reading in sequence widens the read-ahead, reading elsewhere is a seek. All
/// methods may be called from any thread. A deallocated reader releases its resources, as after
/// `cancel()`.
public final class MediaReader: Sendable {
  let entry: Entry
  private let fillsWhole: Bool
  private let state: CountedMutex<State>

  private struct State: Sendable {
    var generation: Generation
    var id: ReaderID
    /// The reader as it attaches to a generation.
    var reader: GenerationState.Reader
    var isCancelled = false
    var statistics = Statistics()
    var storedBefore: RangeSet<Int64>
    let obstacle: Obstacle?
    /// The part of `storedBefore` that was handed to the reader: bytes read twice count once.
    var readFromDisk = RangeSet<Int64>()
    var receivedBefore: Int64
    var requestsBefore: Int
  }

  /// How often bytes whose reads fail on disk are fetched again.
  private static let diskFailureLimit = 3

  /// Creates a reader of an entry that is already held for it.
  ///
  /// - Parameters:
  ///   - resource: what it is opened for; nil if it makes no request of its own.
  ///   - generation: the generation to stay with from the start; nil: the entry's current one, which
  ///     the reader may leave for a newer one until it has read.
  init(
    entry: Entry, resource: Resource? = nil, generation settled: Generation? = nil,
    fill: FillPolicy, isBackground: Bool = false,
    terms: ReadTerms = ReadTerms()
  ) throws(MediaCacheError) {
    guard let generation = settled ?? entry.generationForReader() else {
      throw GenerationState.closed
    }
    self.entry = entry
    fillsWhole = fill == .wholeResource
    let traffic = entry.requests.sums
    var reader = GenerationState.Reader()
    reader.isBackground = isBackground
    reader.fillsWhole = fillsWhole
    reader.terms = terms
    reader.resource = resource
    reader.hasRead = settled != nil
    // The cache may have gone offline, or online, while the generation was created.
    generation.followOffline()
    let (id, stored, obstacle) = Self.attach(reader, to: generation)
    state = CountedMutex(
      State(
        generation: generation, id: id, reader: reader, storedBefore: stored, obstacle: obstacle,
        receivedBefore: traffic.received, requestsBefore: traffic.requests))
    if fillsWhole { entry.beginFilling() }
  }

  /// Returns a further reader of the same version, whatever the origin has by now: for consumers
  /// that read in several places at once and must not receive two versions. Each reader has its own
  /// read position and is cancelled by itself.
  ///
  /// Call it once `contentInformation()` has returned or bytes were read: until then this reader
  /// may still move to another version.
  ///
  /// - Throws: `CancellationError` if this reader was cancelled; `MediaCacheError`, `.closed`.
  public func another(fill: FillPolicy = .onDemand) throws -> MediaReader {
    let (generation, _) = try current()
    guard entry.tryHold() else { throw GenerationState.closed }
    do {
      return try MediaReader(entry: entry, generation: generation, fill: fill)
    } catch {
      entry.release()
      throw error
    }
  }

  deinit {
    cancel()
  }

  private static func attach(
    _ reader: GenerationState.Reader, to generation: Generation, isMoved: Bool = false
  ) -> (ReaderID, RangeSet<Int64>, Obstacle?) {
    let now = generation.entry.now
    return generation.withState { state -> (ReaderID, RangeSet<Int64>, Obstacle?) in
      let id = state.makeID()
      var reader = reader
      if !reader.isBackground { reader.minimum = state.limits.firstRequest }
      // The response that began the new generation arrived after the reader attached: no other is
      // needed.
      reader.awaitsConfirmation =
        !isMoved && !reader.hasRead && state.info != nil && !state.isLive
        && !state.isUsable(on: reader.terms, at: now)
      state.readers[id] = reader
      guard reader.awaitsConfirmation else { return (id, state.stored, nil) }
      let isFresh = state.freshness?.isFresh(at: state.wallTime(at: now)) == true
      return (id, state.stored, isFresh ? .request : .stale)
    }
  }

  // MARK: Its place

  /// Limits the reader to the bytes before `end`: read-ahead stops there (up to the smallest
  /// request).
  ///
  /// - Parameter readsOn: whether the reader is expected to read everything up to there: one
  ///   request fetches it.
  package func setEnd(_ end: Int64, readsOn: Bool = false) {
    let (generation, id) = state.withLock { state in
      state.reader.end = end
      state.reader.readsOn = readsOn
      return (state.generation, state.id)
    }
    generation.withState { state in
      state.readers[id]?.end = end
      state.readers[id]?.readsOn = readsOn
    }
  }

  func current() throws -> (Generation, ReaderID) {
    try state.withLock { state in
      if state.isCancelled { throw CancellationError() }
      return (state.generation, state.id)
    }
  }

  /// Moves to the current generation; nothing was read of the old one.
  func move(from old: Generation) throws {
    _ = try current()
    guard let next = entry.generationForReader() else { throw GenerationState.closed }
    guard next !== old else { return }
    next.followOffline()
    let detached = state.withLock { state -> ReaderID? in
      guard state.generation === old, !state.isCancelled else { return nil }
      let before = state.id
      (state.id, state.storedBefore, _) = Self.attach(
        state.reader, to: next, isMoved: true)
      state.generation = next
      return before
    }
    if let detached { old.leave(detached) }
  }

  @discardableResult
  func deliver(_ offset: Int64, _ count: Int) -> Int {
    let range = offset..<(offset + Int64(count))
    let fromDisk = state.withLock { state -> Int64 in
      state.statistics.bytesRead += Int64(count)
      let fromDisk = state.storedBefore.byteCount(in: range)
      if fromDisk > 0 {
        let before = state.readFromDisk.byteCount(in: range)
        // Usually no part of the range was read before, and all of it was stored.
        if before == 0, fromDisk == Int64(count) {
          state.readFromDisk.insert(contentsOf: range)
        } else {
          state.readFromDisk.formUnion(state.storedBefore.intersection(RangeSet(range)))
        }
        state.statistics.bytesFromDisk = state.readFromDisk.byteCount
      }
      return fromDisk
    }
    if fromDisk > 0 { entry.events.sendTraffic(.servedFromDisk(entry.key, Int(fromDisk))) }
    return count
  }

  /// Has damaged or missing bytes of the file fetched again, a few times.
  ///
  /// - Parameter failures: the number of failed reads so far; incremented.
  func recover(
    _ generation: Generation, _ file: EntryFile, at offset: Int64, count: Int,
    _ failures: inout Int
  ) throws {
    failures += 1
    guard failures < Self.diskFailureLimit else {
      throw MediaCacheError(
        .storage, "The stored bytes of \(entry.key) cannot be read.",
        remedy: "Check the disk; `refrain verify` drops damaged bytes.")
    }
    entry.events.send(
      .warning(
        "\(entry.key) could not be read at byte \(offset); the bytes are fetched again."))
    generation.lose(offset..<(offset + Int64(count)), of: file)
  }

  // MARK: Ending

  /// Ends every wait of this reader with `CancellationError`, and releases its resources. Final.
  public func cancel() {
    let detached = state.withLock { state -> (Generation, ReaderID)? in
      guard !state.isCancelled else { return nil }
      state.isCancelled = true
      return (state.generation, state.id)
    }
    guard let (generation, id) = detached else { return }
    if fillsWhole { entry.endFilling() }
    generation.leave(id)
    entry.release()
  }

  // MARK: Statistics

  /// The statistics of this reader so far.
  public var statistics: Statistics {
    let traffic = entry.requests.sums
    return state.withLock { state in
      var statistics = state.statistics
      statistics.bytesFromOrigin = traffic.received - state.receivedBefore
      statistics.requests = traffic.requests - state.requestsBefore
      return statistics
    }
  }

  var generation: Generation { state.withLock { $0.generation } }

  #if DEBUG
    /// How often its lock and that of its generation were taken.
    var lockCount: Int { state.count + generation.lockCount }
  #endif

  /// The ranges that were stored when the reader was opened, and were handed to it since.
  package var spansReadFromDisk: RangeSet<Int64> { state.withLock { $0.readFromDisk } }

  /// Why a stored response could not be used without asking the origin.
  package enum Obstacle: Sendable {
    case stale
    /// It is fresh, and the request demands more.
    case request
  }

  /// Why the response that was stored when the reader was opened could not be used at once; nil if
  /// it could, or if there was none.
  package var obstacle: Obstacle? { state.withLock { $0.obstacle } }

  /// The ranges that were stored when the reader was opened.
  package var spansBefore: RangeSet<Int64> { state.withLock { $0.storedBefore } }
}
