// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// One consumer's view of an entry: a player, a request of a proxy, a tool.
///
/// A reader sees one generation of the resource from its first byte on. Its read position decides
/// what is fetched: reading in sequence widens the read-ahead, reading elsewhere is a seek. All
/// methods may be called from any thread. Deallocation cancels it.
public final class MediaReader: Sendable {
  let entry: Entry
  private let state: CountedMutex<State>

  private struct State: Sendable {
    var generation: Generation
    var id: ReaderID
    /// The reader as it attaches to a generation.
    var reader: GenerationState.Reader
    var isCancelled = false
    var bytesRead: Int64 = 0
    var storedBefore: RangeSet<Int64>
    /// Those of `storedBefore` that were handed to the reader.
    var readFromDisk = RangeSet<Int64>()
    let trafficBefore: (received: Int64, requests: Int)
    /// Fills the holes of the generation (`FillPolicy.wholeResource`).
    var filling: Task<Void, Never>?
  }

  /// Creates a reader of an entry that is held for it, and released if this throws. Without a
  /// `generation`, it may leave the current one until it has read.
  @inline(never)
  init(
    entry: Entry, resource: Resource? = nil, generation settled: Generation? = nil,
    fill: FillPolicy, isBackground: Bool = false, terms: ReadTerms = ReadTerms()
  ) throws(MediaCacheError) {
    guard let generation = settled ?? entry.generationForReader() else {
      entry.release()
      throw GenerationState.closed
    }
    self.entry = entry
    let traffic = entry.requests.sums
    let reader = GenerationState.Reader(
      isBackground: isBackground, fillsWhole: fill == .wholeResource,
      attachment: settled == nil ? .loose : .fixed, terms: terms, resource: resource)
    // The cache may have gone offline, or online, while the generation was created.
    generation.followOffline()
    let (id, stored) = Self.attach(reader, to: generation)
    state = CountedMutex(
      State(
        generation: generation, id: id, reader: reader, storedBefore: stored,
        trafficBefore: traffic, filling: Self.filling(of: generation, for: reader)))
  }

  private static func filling(
    of generation: Generation, for reader: GenerationState.Reader
  ) -> Task<Void, Never>? {
    guard reader.fillsWhole else { return nil }
    return Task(executorPreference: IOThreads.shared) { await generation.fill() }
  }

  /// Returns a further reader of the same version, whatever the origin has by now, which is
  /// cancelled by itself. Call it once `contentInformation()` has returned or bytes were read: until
  /// then this reader may still move to another version.
  ///
  /// - Throws: `CancellationError` if this reader was cancelled; `MediaCacheError`, `.closed`.
  public func another(fill: FillPolicy = .onDemand) throws -> MediaReader {
    let (generation, _) = try current()
    guard entry.tryHold() else { throw GenerationState.closed }
    return try MediaReader(entry: entry, generation: generation, fill: fill)
  }

  deinit { cancel() }

  private static func attach(
    _ reader: GenerationState.Reader, to generation: Generation, isMoved: Bool = false
  ) -> (ReaderID, RangeSet<Int64>) {
    let now = generation.entry.now
    return generation.withState { state in
      var reader = reader
      if !reader.isBackground { reader.minimum = state.limits.firstRequest }
      // The response that began the new generation arrived after the reader attached.
      let isUsable = isMoved || state.info == nil || state.isLive
      if !reader.hasRead {
        reader.attachment =
          isUsable || state.isUsable(on: reader.terms, at: now) ? .loose : .unconfirmed
      }
      return (state.add(reader), state.stored)
    }
  }

  /// Limits the reader to the bytes before `end`: read-ahead stops there (up to the smallest
  /// request). If it `readsOn`, one request fetches everything up to there.
  package func setEnd(_ end: Int64, readsOn: Bool = false) {
    let (generation, id) = state.withLock { state in
      (state.reader.end, state.reader.readsOn) = (end, readsOn)
      return (state.generation, state.id)
    }
    generation.withState { state in
      state.readers[id]?.end = end
      state.readers[id]?.readsOn = readsOn
    }
  }

  func current() throws -> (Generation, ReaderID) {
    let place = state.withLock { $0.isCancelled ? nil : ($0.generation, $0.id) }
    guard let place else { throw CancellationError() }
    return place
  }

  /// Moves to the current generation; nothing was read of the old one.
  func move(from old: Generation) throws {
    guard let next = entry.generationForReader() else { throw GenerationState.closed }
    guard next !== old else { return }
    let before = state.withLock { state -> State? in
      guard state.generation === old, !state.isCancelled else { return nil }
      let before = state
      (state.id, state.storedBefore) = Self.attach(state.reader, to: next, isMoved: true)
      state.generation = next
      state.filling = Self.filling(of: next, for: state.reader)
      return before
    }
    before?.filling?.cancel()
    if let before { old.leave(before.id) }
  }

  @discardableResult
  func deliver(_ offset: Int64, _ count: Int) -> Int {
    let range = offset..<(offset + Int64(count))
    let fromDisk = state.withLock { state -> Int64 in
      state.bytesRead += Int64(count)
      let fromDisk = state.storedBefore.byteCount(in: range)
      if fromDisk == Int64(count) {
        state.readFromDisk.insert(contentsOf: range)
      } else if fromDisk > 0 {
        state.readFromDisk.formUnion(state.storedBefore.intersection(RangeSet(range)))
      }
      return fromDisk
    }
    if fromDisk > 0 { entry.events.sendTraffic(.servedFromDisk(entry.key, Int(fromDisk))) }
    return count
  }

  /// Ends every wait of this reader with `CancellationError`, and releases its resources. Final.
  public func cancel() {
    let last = state.withLock { state -> State? in
      guard !state.isCancelled else { return nil }
      state.isCancelled = true
      return state
    }
    guard let last else { return }
    last.filling?.cancel()
    last.generation.leave(last.id)
    entry.release()
  }

  var generation: Generation { state.withLock { $0.generation } }

  #if DEBUG
    var lockCount: Int { state.count + generation.lockCount }
  #endif

  /// The ranges that were stored when the reader was opened.
  package var spansBefore: RangeSet<Int64> { state.withLock { $0.storedBefore } }

  /// Those of `spansBefore` that were handed to the reader.
  package var spansReadFromDisk: RangeSet<Int64> { state.withLock { $0.readFromDisk } }

  /// The stored ranges of this reader's generation.
  public var cachedSpans: RangeSet<Int64> { generation.withState { $0.stored } }

  package var knownInformation: ContentInformation? { generation.withState { $0.info } }

  /// Whether incoming bytes are stored (`StoredBytes.refusal`).
  package var isStoring: Bool { generation.withState { !$0.isTransient } }

  /// Whether the stream cannot be read again: a station's, or one of unknown length that is not
  /// stored and whose origin supports no ranges. May become true later, when storing ends.
  package var isPassing: Bool {
    generation.withState { state in
      let isEndless = state.info.map { $0.length == nil && !$0.supportsRanges } ?? false
      return state.isLive || state.isTransient && isEndless
    }
  }

  /// The key of the first resource of the group to which the resource belongs, if known.
  package var group: CacheKey? { entry.group.map { CacheKey(rawValue: $0) } }

  /// Returns the live stream's title at a byte of this reader, as far as received; nil if none
  /// is known. The latest 64 titles are kept. `CacheEvent.streamTitle` reports each change.
  public func streamTitle(at offset: Int64) -> StreamTitle? {
    generation.withState { $0.representation.titles.title(at: offset) }
  }

  public struct Statistics: Sendable, Hashable {
    /// The bytes handed to this reader.
    public var bytesRead: Int64 = 0
    /// The bytes handed to this reader that were stored before it was opened. A byte read several
    /// times counts once.
    public var bytesFromDisk: Int64 = 0
    /// The bytes received from the origin since the reader was opened, for any reader.
    public var bytesFromOrigin: Int64 = 0
    /// The requests sent to the origin since the reader was opened.
    public var requests = 0

    public init() {}
  }

  /// The statistics of this reader so far.
  public var statistics: Statistics {
    let traffic = entry.requests.sums
    var statistics = Statistics()
    state.withLock { state in
      statistics.bytesRead = state.bytesRead
      statistics.bytesFromDisk = state.readFromDisk.byteCount
      statistics.bytesFromOrigin = traffic.received - state.trafficBefore.received
      statistics.requests = traffic.requests - state.trafficBefore.requests
    }
    return statistics
  }

  // MARK: For front ends that answer HTTP requests

  /// Returns the known response, waiting as `contentInformation()` does. From here on the reader
  /// stays with its generation: a caller that announces it must not read the bytes of another one.
  package func settle() async throws -> StoredResponse {
    let generation = try await find(at: nil) { $0.settle($1) }.generation
    guard let known = generation.withState({ $0.known }) else { throw GenerationState.closed }
    return known
  }

  /// Reads or changes the state of the generation; not for a cancelled reader, which has left it.
  @discardableResult
  func withState<Result: Sendable>(
    _ body: (inout GenerationState, ReaderID) -> Result
  ) -> Result? {
    guard let (generation, id) = try? current() else { return nil }
    return generation.withState { body(&$0, id) }
  }

  package var key: CacheKey { entry.key }

  /// Requests nothing beyond the reader's end: the origin of a resource that grows could hold the
  /// response back until that byte exists.
  package func requestNothingBeyondEnd() {
    withState { state, id in state.readers[id]?.minimum = 1 }
  }

  /// See `GenerationState.announcedEnd`.
  package func announcedEnd(from offset: Int64) -> Int64? {
    generation.withState { $0.announcedEnd(from: offset) }
  }

  /// Pauses the reader: bytes requested on its behalf are not received any more.
  package func rest() { withState { state, id in state.rest(id) } }
}
