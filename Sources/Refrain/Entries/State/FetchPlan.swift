// SPDX-License-Identifier: MIT

/// Decides what to request from the origin next. A pure value: no clock, no I/O.
struct FetchPlan: Sendable {
  typealias Reader = GenerationState.Reader
  typealias Running = GenerationState.RunningFetch

  var length: Int64?
  var supportsRanges: Bool?
  /// In bytes per second.
  var rate: Double?
  /// The shortest time from a request to the head of its response, in seconds.
  var latency: Double?
  /// How far readers usually read in sequence before they seek or leave.
  var usualRun: Int64?
  /// The longest wait for a running fetch to reach a reader's offset, in seconds; nil: as long as
  /// another request would take.
  var patience: Double?
  /// The size of the first request after a seek.
  var firstRequest: Int64
  var maximumReadAhead: Int64

  /// After this run, a reader is expected to continue to the end.
  private static let longRun: Int64 = 2 << 20

  /// A rest of a request up to this size is received although nobody wants it any more: the
  /// connection can be reused.
  var mostBroughtHome: Int64 { 4 * firstRequest }

  mutating func note(rate new: Double) { rate = rate.map { $0 * 0.7 + new * 0.3 } ?? new }

  /// Returns how far ahead of a reader bytes are received, after a run of that many.
  func window(afterRun run: Int64) -> Int64 {
    min(max(4 * firstRequest, min(run, 1 << 20), run / 4), mostAhead)
  }

  private var mostAhead: Int64 { max(maximumReadAhead * 2 / 3, 1) }

  /// Returns how much a reader has left if it reads as far as others did; nil if it is further.
  private func usualRest(of reader: Reader) -> Int64? {
    usualRun.flatMap { reader.runLength <= $0 ? $0 - reader.runLength : nil }
  }

  private func requestLength(for reader: Reader) -> Int64 {
    if reader.isBackground { return .max }
    if let rest = usualRest(of: reader), rest > 0 { return rest }
    let isLong = reader.readsOn || reader.runLength >= Self.longRun
    return isLong ? .max : max(reader.runLength, firstRequest)
  }

  /// Returns what to request for a reader at its position, if anything. A running fetch that would
  /// bring its bytes too late is to end where the request begins.
  func request(
    for reader: Reader, isWaiting: Bool, readable: RangeSet<Int64>, running: [Running]
  ) -> ByteRange? {
    var reader = reader
    let position = reader.position
    // Where it waits beyond its declared end, it wants more after all.
    if position >= reader.end { (reader.end, reader.readsOn) = (.max, false) }
    let end = min(reader.end, length ?? .max)
    guard position < end else { return nil }
    let isMissing = isWaiting && !readable.contains(position)
    let coming = isMissing ? running.firstIndex { $0.ahead.contains(position) } : nil
    if supportsRanges == false {
      // One response brings everything: any reader whose offset is still ahead joins it.
      return isMissing && coming == nil ? 0..<(length ?? .max) : nil
    }
    let late = coming.flatMap { joins(running[$0], at: position) ? nil : $0 }
    let others = running.indices.lazy.filter { $0 != late }
    let covered = readable.with(others.map { running[$0] })
    if late != nil { return hole(at: position, for: reader, covered: covered) }

    let first = covered.end(from: position)
    guard first < end else { return nil }
    // Having come as far as others do, it is likely to seek, unless it waits for this byte.
    if let rest = usualRest(of: reader), first >= position + rest, !isWaiting || first > position {
      return nil
    }
    if first > position {
      // Some is readable or in transit: the next request is sent when half the window is left.
      let window = min(max(reader.runLength, firstRequest), mostAhead)
      let limit = position + window
      guard first < limit, first - position <= window / 2,
        running.count(where: { $0.ahead.overlaps(position..<limit) }) < 2
      else { return nil }
    }
    return hole(at: first, for: reader, covered: covered)
  }

  /// Whether another request would take as long. A response for everything is worth a longer wait.
  private func joins(_ fetch: Running, at offset: Int64) -> Bool {
    if fetch.isWhole && supportsRanges != true { return true }
    let time = patience ?? (fetch.isWhole ? 0.5 : min(latency ?? 0.5, 0.5))
    // Of an unknown origin, a media bit rate is assumed.
    let distance = max(Double(mostBroughtHome), (rate ?? 1_048_576) * time)
    return Double(offset - fetch.position) <= distance
  }

  /// Beyond the reader's end, a request extends only up to the smallest one.
  private func hole(
    at offset: Int64, for reader: Reader, covered: RangeSet<Int64>
  ) -> ByteRange {
    func end(after count: Int64) -> Int64 { offset + min(count, .max - offset) }
    let wanted = end(after: max(requestLength(for: reader), reader.minimum))
    let most = min(max(reader.end, end(after: reader.minimum)), length ?? .max)
    let next = covered.nextLowerBound(atOrAfter: offset + 1) ?? .max
    return offset..<max(min(wanted, most, next), offset + 1)
  }
}
