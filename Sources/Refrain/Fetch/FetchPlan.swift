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
    /// The smallest request worth making for it.
    var minimum: Int64
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
  /// Longest wait for a running fetch to come to a reader's offset, in seconds.
  var patience: Double
  /// The size of the first request after a jump.
  var firstRequest: Int64
  var maximumReadAhead: Int64

  /// Bytes a second of an origin that nothing is known of: what media takes to play.
  private static let assumedRate = 1_048_576.0

  /// A reader joins a fetch that is at most this far before its offset, however slow.
  private var joinWindow: Int64 { firstRequest }

  /// How far ahead of a reader is fetched: as much again as it has read in sequence, and not more
  /// than two seconds' worth, so that a jump is not kept waiting by what was asked for before.
  func window(for demand: Demand) -> Int64 {
    var window = min(max(demand.runLength, firstRequest), max(maximumReadAhead * 2 / 3, 1))
    if let rate { window = min(window, max(Int64(rate * 2), 4 * firstRequest)) }
    return window
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
    let window = window(for: demand)

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
    if first > demand.position {
      // Some of it is there or coming: the next request is made when half of the window is left.
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
    let distance = offset - fetch.position
    if fetch.isWhole && supportsRanges != true { return true }
    if distance <= joinWindow { return true }
    return Double(distance) / max(rate ?? Self.assumedRate, 1) <= patience
  }

  private func firstUncovered(from offset: Int64, covered: RangeSet<Int64>) -> Int64? {
    covered.range(containing: offset)?.upperBound ?? offset
  }

  /// The part of the hole at `offset` to ask for: a window, no longer than the hole. What lies
  /// beyond the demand's end is asked for only up to the smallest request.
  private func hole(
    at offset: Int64, for demand: Demand, covered: RangeSet<Int64>
  ) -> ByteRange {
    let wanted = Self.sum(offset, max(window(for: demand), demand.minimum))
    let end = min(max(demand.end, Self.sum(offset, demand.minimum)), length ?? .max)
    let next = covered.nextLowerBound(atOrAfter: offset + 1) ?? .max
    return offset..<max(min(wanted, end, next), offset + 1)
  }

  private static func sum(_ offset: Int64, _ count: Int64) -> Int64 {
    let (sum, overflow) = offset.addingReportingOverflow(count)
    return overflow ? .max : sum
  }
}
