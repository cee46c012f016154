// SPDX-License-Identifier: MIT

/// What to ask the origin for next, from what readers want, what is there and what is on its way.
/// A pure value: no clock, no I/O.
struct FetchPlan: Sendable {
  /// One reader's wish.
  struct Demand: Sendable, Hashable {
    /// Where it reads, or waits.
    var position: Int64
    /// How many bytes it has read in sequence up to there.
    var runLength: Int64
    /// It wants nothing from here on.
    var end: Int64 = .max
    /// It can not go on before the byte at `position` is there.
    var isWaiting: Bool
    /// It gives way to readers that play.
    var isBackground: Bool
    /// It has said that it reads all up to `end`.
    var readsOn = false
    /// The smallest request worth making for it.
    var minimum: Int64

    /// How much it still reads before it jumps or leaves, if it does as others did: `usual` bytes in
    /// sequence. Nil where it has gone further already.
    func rest(ofUsual usual: Int64?) -> Int64? {
      usual.flatMap { runLength <= $0 ? $0 - runLength : nil }
    }
  }

  /// A fetch under way: `position` is the next byte it brings, `range` what it was asked for.
  struct Running: Sendable, Hashable {
    var range: ByteRange
    var position: Int64
    /// A response without ranges: it cannot be begun elsewhere.
    var isWhole: Bool

    /// What it is still to bring.
    var ahead: ByteRange { min(position, range.upperBound)..<range.upperBound }
  }

  enum Decision: Sendable, Hashable {
    /// Nothing to do: it is there, or on its way.
    case none
    /// Start a fetch of that range.
    case start(ByteRange)
    /// Start a fetch of that range, and end the running one (by index) where it begins.
    case startAndTruncate(ByteRange, Int)
  }

  /// The length of the resource; nil while unknown.
  var length: Int64?
  /// Whether the origin answers ranges; nil while unknown.
  var supportsRanges: Bool?
  /// Bytes a second, as seen lately; nil while unknown.
  var rate: Double?
  /// From a request to the head of its answer, in seconds, at its shortest; nil while unknown.
  var latency: Double?
  /// How far readers of this resource usually read in sequence before they jump or leave; nil where
  /// that is not known.
  var usualRun: Int64?
  /// Longest wait for a running fetch to come to a reader's offset, in seconds; nil: for as long as a
  /// further request would take.
  var patience: Double?
  /// The size of the first request after a jump.
  var firstRequest: Int64
  var maximumReadAhead: Int64

  /// Bytes a second of an origin that nothing is known of: what media takes to play.
  private static let assumedRate = 1_048_576.0

  /// Who has read so far in sequence is expected to go on to the end: one request asks for all of it.
  private static let longRun: Int64 = 2 << 20

  /// Up to here the window ahead of a reader is as long as what it has read in sequence; beyond, it is
  /// a quarter of that.
  private static let equalWindow: Int64 = 1 << 20

  /// The most of what is left of a request that is received although nobody wants it any more: what is
  /// on its way would come anyway, and the connection can be used again.
  var mostBroughtHome: Int64 { 4 * firstRequest }

  /// Where a running fetch is joined by a reader further on, in bytes from the one to the other: what
  /// comes within the time of a further request is as good as on its way. An answer that brings
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

  /// A rate may be measured too high, where what was measured had come before.
  private static let longestJoin: Int64 = 2 << 20

  /// How far ahead of a reader bytes are received.
  func window(for demand: Demand) -> Int64 {
    let run = demand.runLength
    let window = max(4 * firstRequest, min(run, Self.equalWindow), run / 4)
    return min(window, mostAhead)
  }

  private var mostAhead: Int64 { max(maximumReadAhead * 2 / 3, 1) }

  /// How many bytes one request for a demand asks for: as much again as was read, or all of the hole
  /// for who reads on. What is not wanted in the end is not received.
  private func requestLength(for demand: Demand) -> Int64 {
    if demand.isBackground { return .max }
    let isLong = demand.readsOn || demand.runLength >= Self.longRun
    if let rest = demand.rest(ofUsual: usualRun), rest > 0 {
      return isLong ? rest : min(rest, Self.longRun)
    }
    return isLong ? .max : max(demand.runLength, firstRequest)
  }

  /// What one demand calls for.
  ///
  /// - Parameters:
  ///   - readable: what is there.
  ///   - running: what is on its way.
  func decide(
    for demand: Demand, readable: RangeSet<Int64>, running: [Running]
  ) -> Decision {
    let end = min(demand.end, length ?? .max)
    guard demand.position < end else { return .none }
    if supportsRanges == false {
      return decideWithoutRanges(demand, readable: readable, running: running)
    }
    var covered = readable
    for fetch in running where !fetch.ahead.isEmpty { covered.insert(contentsOf: fetch.ahead) }

    if demand.isWaiting, !readable.contains(demand.position) {
      if let index = running.firstIndex(where: { $0.ahead.contains(demand.position) }) {
        let fetch = running[index]
        if !joins(fetch, at: demand.position) {
          // What the one that is cut short would still have brought is to be had again, nothing else.
          var covered = readable
          for other in running.indices where other != index && !running[other].ahead.isEmpty {
            covered.insert(contentsOf: running[other].ahead)
          }
          let range = hole(at: demand.position, for: demand, covered: covered)
          return .startAndTruncate(range, index)
        }
      }
    }

    guard let first = firstUncovered(from: demand.position, covered: covered), first < end else {
      return .none
    }
    // Who has come as far as others do is likely to jump next, unless it waits for just that byte.
    if let rest = demand.rest(ofUsual: usualRun), first >= demand.position + rest,
      !demand.isWaiting || first > demand.position
    {
      return .none
    }
    if first > demand.position {
      // Some of it is there or coming: the next request is made when half of what was read is left.
      let window = min(max(demand.runLength, firstRequest), mostAhead)
      let limit = demand.position + window
      guard first < limit, first - demand.position <= window / 2 else { return .none }
      let serving = running.filter { $0.ahead.overlaps(demand.position..<limit) }
      guard serving.count < 2 else { return .none }
    }
    return .start(hole(at: first, for: demand, covered: covered))
  }

  /// One response brings everything, from the first byte on: it is joined wherever it still has to
  /// come by.
  private func decideWithoutRanges(
    _ demand: Demand, readable: RangeSet<Int64>, running: [Running]
  ) -> Decision {
    guard demand.isWaiting, !readable.contains(demand.position) else { return .none }
    let comes = running.contains { $0.ahead.contains(demand.position) }
    return comes ? .none : .start(0..<(length ?? .max))
  }

  private func joins(_ fetch: Running, at offset: Int64) -> Bool {
    if fetch.isWhole && supportsRanges != true { return true }
    return offset - fetch.position <= joinDistance(isWhole: fetch.isWhole)
  }

  private func firstUncovered(from offset: Int64, covered: RangeSet<Int64>) -> Int64? {
    covered.range(containing: offset)?.upperBound ?? offset
  }

  /// The part of the hole at `offset` to ask for. What lies beyond the demand's end is asked for only
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
