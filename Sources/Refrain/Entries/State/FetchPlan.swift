// SPDX-License-Identifier: MIT

/// Decides what to request from the origin next, from the readers' demands, the readable bytes and
/// the running fetches. A pure value: no clock, no I/O.
struct FetchPlan: Sendable {
  /// One reader's demand.
  struct Demand: Sendable, Hashable {
    /// Where the reader reads, or waits.
    var position: Int64
    /// The number of bytes read in sequence up to there.
    var runLength: Int64
    /// The reader wants nothing from here on.
    var end: Int64 = .max
    /// Whether the reader cannot continue before the byte at `position` arrives.
    var isWaiting: Bool
    /// Whether the reader gives way to readers that play.
    var isBackground: Bool
    /// Whether the reader has announced that it reads everything up to `end`.
    var readsOn = false
    /// The smallest worthwhile request for the reader.
    var minimum: Int64

    /// Returns how many bytes the reader still reads before it seeks or leaves, if it reads `usual`
    /// bytes in sequence as others did. Nil if it has read more already.
    func rest(ofUsual usual: Int64?) -> Int64? {
      usual.flatMap { runLength <= $0 ? $0 - runLength : nil }
    }
  }

  typealias Running = GenerationState.RunningFetch

  enum Decision: Sendable, Hashable {
    /// Nothing to do: the bytes are readable, or in transit.
    case none
    /// Start a fetch of this range.
    case start(ByteRange)
    /// Start a fetch of this range, and end the running one (by index) where it begins.
    case startAndTruncate(ByteRange, Int)
  }

  /// The length of the resource; nil while unknown.
  var length: Int64?
  /// Whether the origin answers ranges; nil while unknown.
  var supportsRanges: Bool?
  /// The recent rate in bytes per second; nil while unknown.
  var rate: Double?
  /// The shortest time from a request to the head of its response, in seconds; nil while unknown.
  var latency: Double?
  /// How far readers of this resource usually read in sequence before they seek or leave; nil while
  /// unknown.
  var usualRun: Int64?
  /// The longest wait for a running fetch to reach a reader's offset, in seconds; nil: the time
  /// that another request would take.
  var patience: Double?
  /// The size of the first request after a seek.
  var firstRequest: Int64
  var maximumReadAhead: Int64

  mutating func noteRate(_ bytesPerSecond: Double) {
    rate = rate.map { $0 * 0.7 + bytesPerSecond * 0.3 } ?? bytesPerSecond
  }

  /// - Parameter time: from a request to the head of its response.
  mutating func noteLatency(_ time: Duration) {
    latency = min(latency ?? .infinity, time.seconds)
  }

  /// The assumed bytes per second of an unknown origin: a media bit rate.
  private static let assumedRate = 1_048_576.0

  /// A reader that has read this far in sequence is expected to continue to the end: one request
  /// covers the rest.
  private static let longRun: Int64 = 2 << 20

  /// Up to this size, the window ahead of a reader equals the bytes it has read in sequence;
  /// beyond, a quarter of them.
  private static let equalWindow: Int64 = 1 << 20

  /// The most bytes of a request that are received although nobody wants them any more: bytes in
  /// transit would arrive anyway, and the connection can be reused.
  var mostBroughtHome: Int64 { 4 * firstRequest }

  /// Returns how far ahead of a running fetch a reader may be to join it, in bytes: those that
  /// arrive within the time of another request are as good as in transit. A response that brings
  /// everything is worth a longer wait.
  private func joinDistance(isWhole: Bool) -> Int64 {
    if let patience { return distance(within: patience) }
    if isWhole { return distance(within: Self.longestPatience) }
    let time = min(latency ?? Self.longestPatience, Self.longestPatience)
    return min(distance(within: time), Self.longestJoin)
  }

  /// In seconds.
  private static let longestPatience = 0.5

  private func distance(within seconds: Double) -> Int64 {
    let bytes = max(rate ?? Self.assumedRate, 1) * max(seconds, 0)
    return max(mostBroughtHome, Int64(min(bytes, Double(1 << 62))))
  }

  /// A measured rate may be too high, if the bytes had arrived before the measurement.
  private static let longestJoin: Int64 = 2 << 20

  /// Returns how far ahead of a reader bytes are received, after a run of that many.
  func window(afterRun run: Int64) -> Int64 {
    let window = max(4 * firstRequest, min(run, Self.equalWindow), run / 4)
    return min(window, mostAhead)
  }

  private var mostAhead: Int64 { max(maximumReadAhead * 2 / 3, 1) }

  /// Returns the number of bytes that one request for a demand covers: as many as were read in
  /// sequence, or the whole hole for a reader that continues. Unwanted bytes are not received.
  private func requestLength(for demand: Demand) -> Int64 {
    if demand.isBackground { return .max }
    let isLong = demand.readsOn || demand.runLength >= Self.longRun
    if let rest = demand.rest(ofUsual: usualRun), rest > 0 {
      return isLong ? rest : min(rest, Self.longRun)
    }
    return isLong ? .max : max(demand.runLength, firstRequest)
  }

  /// Decides what one demand requires.
  ///
  /// - Parameters:
  ///   - readable: the readable bytes.
  ///   - running: the running fetches.
  func decide(
    for demand: Demand, readable: RangeSet<Int64>, running: [Running]
  ) -> Decision {
    let end = min(demand.end, length ?? .max)
    guard demand.position < end else { return .none }
    if supportsRanges == false {
      return decideWithoutRanges(demand, readable: readable, running: running)
    }
    var late: Int?
    if demand.isWaiting, !readable.contains(demand.position),
      let index = running.firstIndex(where: { $0.ahead.contains(demand.position) }),
      !joins(running[index], at: demand.position)
    {
      late = index
    }
    var covered = readable
    for (index, fetch) in running.enumerated() where index != late && !fetch.ahead.isEmpty {
      covered.insert(contentsOf: fetch.ahead)
    }
    if let late {
      // Only the bytes that the shortened fetch would still have brought are requested again.
      return .startAndTruncate(hole(at: demand.position, for: demand, covered: covered), late)
    }

    let first = covered.end(from: demand.position)
    guard first < end else { return .none }
    // A reader that has come as far as others do is likely to seek next, unless it waits for this
    // byte.
    if let rest = demand.rest(ofUsual: usualRun), first >= demand.position + rest,
      !demand.isWaiting || first > demand.position
    {
      return .none
    }
    if first > demand.position {
      // Some is readable or in transit: the next request is sent when half the window is left.
      let window = min(max(demand.runLength, firstRequest), mostAhead)
      let limit = demand.position + window
      guard first < limit, first - demand.position <= window / 2 else { return .none }
      let serving = running.filter { $0.ahead.overlaps(demand.position..<limit) }
      guard serving.count < 2 else { return .none }
    }
    return .start(hole(at: first, for: demand, covered: covered))
  }

  /// Decides for an origin without ranges. One response brings everything from the first byte: any
  /// reader whose offset is still ahead joins it.
  private func decideWithoutRanges(
    _ demand: Demand, readable: RangeSet<Int64>, running: [Running]
  ) -> Decision {
    guard demand.isWaiting, !readable.contains(demand.position),
      !running.contains(where: { $0.ahead.contains(demand.position) })
    else { return .none }
    return .start(0..<(length ?? .max))
  }

  private func joins(_ fetch: Running, at offset: Int64) -> Bool {
    if fetch.isWhole && supportsRanges != true { return true }
    return offset - fetch.position <= joinDistance(isWhole: fetch.isWhole)
  }

  /// Returns the part of the hole at `offset` to request. Beyond the demand's end it extends only
  /// up to the smallest request.
  private func hole(
    at offset: Int64, for demand: Demand, covered: RangeSet<Int64>
  ) -> ByteRange {
    let wanted = Self.sum(offset, max(requestLength(for: demand), demand.minimum))
    let end = min(max(demand.end, Self.sum(offset, demand.minimum)), length ?? .max)
    let next = covered.nextLowerBound(atOrAfter: offset + 1) ?? .max
    return offset..<max(min(wanted, end, next), offset + 1)
  }

  private static func sum(_ offset: Int64, _ count: Int64) -> Int64 {
    let (sum, overflow) = offset.addingReportingOverflow(count)
    return overflow ? .max : sum
  }
}

/// How far recent readers of a resource read in sequence before a seek or their end: the next
/// reader is expected to do the same. A pure value.
struct RecentRuns: Sendable, Hashable {
  /// In bytes, the latest last.
  private var lengths: [Int64] = []

  /// Fewer say nothing: a player looks at the beginning and at the end before it plays.
  private static let least = 4
  private static let most = 8

  mutating func note(_ length: Int64) {
    guard length > 0 else { return }
    if lengths.count == Self.most { lengths.removeFirst() }
    lengths.append(length)
  }

  /// The longest recent run; nil while there are too few.
  var usual: Int64? { lengths.count < Self.least ? nil : lengths.max() }
}
