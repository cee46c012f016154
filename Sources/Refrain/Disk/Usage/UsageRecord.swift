// SPDX-License-Identifier: MIT

/// The disk space that a cache directory takes, as counted by every cache that writes to it. A pure
/// value, kept in the file `usage`.
///
/// One rule makes the count safe: `used` is never less than the allocated bytes.
///
/// - A writer adds a grant before it writes, and gives back what it did not use.
/// - Whoever frees bytes subtracts them afterwards, unless a measurement has replaced the count
///   meanwhile: that one may already lack them.
/// - A measurement adds to the bytes that it found all that may have been written unseen: the grants
///   that were outstanding when it began, and those made since.
///
/// So the count may be too high for a while, at most by what was granted or freed during a
/// measurement, and is never too low.
struct UsageRecord: Sendable, Hashable {
  /// A cache that may write without a further grant.
  struct Writer: Sendable, Hashable {
    var id: UInt64
    /// The identifier of its process.
    var process: Int64
    /// The most bytes that it may still allocate, or holds in removed files.
    var outstanding: Int64
  }

  /// Allocated bytes, and bytes that writers may allocate.
  var used: Int64 = 0
  /// The bytes ever granted, without those that were given back unwritten.
  var granted: Int64 = 0
  /// Bytes granted since `used` became a guess; nil while it is not one.
  var guess: Int64?
  /// The number of measurements that replaced the count. Only counts up.
  var measurements: Int64 = 0
  /// The time of the last measurement, in seconds since 1970.
  var measuredAt: Double = 0
  /// Identifies the boot in which the record was written. In another boot the writers' process
  /// identifiers mean nothing and written bytes may be lost, so `used` is a guess.
  var boot: UInt64
  var writers: [Writer] = []

  /// Returns the most bytes granted to all writers together while `used` is a guess.
  static func guessLimit(_ limit: Int64) -> Int64 { min(16 << 20, limit / 16) }

  // MARK: Granting

  /// Grants `bytes`, or `quantum` if there is room, so that a writer need not ask for every chunk.
  /// Note the writer's outstanding bytes afterwards.
  ///
  /// - Parameter limit: the limit for all writers together; nil for none.
  /// - Returns: the bytes granted; nil if there is no room.
  mutating func grant(_ bytes: Int64, quantum: Int64 = 0, limit: Int64?) -> Int64? {
    let amount = [max(quantum, bytes), bytes].first { shortage(of: $0, limit: limit) == 0 }
    guard let amount else { return nil }
    granted += amount
    add(amount)
    return amount
  }

  /// Returns the bytes to free before `bytes` more can be granted.
  func shortage(of bytes: Int64, limit: Int64?) -> Int64 {
    guard let limit else { return 0 }
    let excess = guess.map { $0 + bytes - max(Self.guessLimit(limit), bytes) } ?? 0
    return max(0, used + bytes - limit, excess)
  }

  /// Subtracts bytes that are no longer allocated, or were granted and never will be.
  mutating func free(_ bytes: Int64) { add(-bytes) }

  /// Records that bytes which were granted will never be written.
  mutating func ungrant(_ bytes: Int64) { granted = max(0, granted - bytes) }

  private mutating func add(_ bytes: Int64) {
    used = max(0, used + bytes)
    guess = guess.map { max(0, $0 + bytes) }
  }

  mutating func note(_ writer: Writer) {
    let index = writers.firstIndex { $0.id == writer.id }
    if writer.outstanding <= 0 {
      if let index { writers.remove(at: index) }
    } else if let index {
      writers[index] = writer
    } else if writers.count < Self.mostWriters {
      writers.append(writer)
    }
  }

  // MARK: Measuring

  /// The state before a measurement, which is needed to use its result.
  struct MeasurementStart: Sendable, Hashable {
    var used: Int64
    var granted: Int64
    var outstanding: Int64
    var dead: Set<UInt64>
  }

  /// Begins a measurement. `dead` writers will not write any more.
  func beginMeasurement(dead: Set<UInt64> = []) -> MeasurementStart {
    let live = writers.filter { !dead.contains($0.id) }
    return MeasurementStart(
      used: used, granted: granted, outstanding: live.reduce(0) { $0 + $1.outstanding }, dead: dead)
  }

  /// Ends a measurement. Of two upper bounds, the count and the measurement with all that it may
  /// have missed, the lower one is kept, unless the count cannot be trusted.
  mutating func endMeasurement(_ start: MeasurementStart, measured: Int64, at now: Double) {
    writers.removeAll { start.dead.contains($0.id) }
    measuredAt = now
    let grantedSince = granted - start.granted
    let most = measured + max(0, start.outstanding + grantedSince)
    // More than was ever counted meanwhile: somebody else has added files.
    let isContradicted = measured > start.used + grantedSince
    let isTrusted = guess == nil && start.dead.isEmpty && !isContradicted
    if isTrusted, used <= most { return }
    used = most
    guess = nil
    measurements += 1
  }
}
