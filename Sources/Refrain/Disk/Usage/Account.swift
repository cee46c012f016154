// SPDX-License-Identifier: MIT
import Foundation

/// The bytes that one cache was granted of its directory's limit, and their use. A pure value.
///
/// Each entry that is open for writing holds a reserve for its directory, record and journals; what
/// its data files grow by is taken from the grants as they grow. When the entry is closed, both are
/// corrected by the growth on disk.
struct Account: Sendable {
  /// Identifies this cache among the writers of `UsageRecord`.
  let id = UInt64.random(in: 1...UInt64.max)
  /// Bytes granted and not yet reserved. Negative if a file grew by more than was reserved for it,
  /// until `report`.
  private(set) var allowance: Int64 = 0
  /// Bytes reserved for open entries and for writes under way, or held in removed files that
  /// somebody still reads.
  private(set) var reserved: Int64 = 0
  /// The counted growth of each open entry since it was opened.
  private var grown: [String: Int64] = [:]

  /// The bytes that this cache may still allocate, or holds in files that only it can see.
  var outstanding: Int64 { max(0, allowance) + reserved }

  mutating func take(_ bytes: Int64) -> Bool {
    guard allowance >= bytes else { return false }
    allowance -= bytes
    reserved += bytes
    return true
  }

  /// Takes `bytes` from the allowance, with a further grant if it is too small.
  mutating func reserve(
    _ bytes: Int64, quantum: Int64 = 0, limit: Int64?, from record: inout UsageRecord
  ) -> Bool {
    if take(bytes) { return true }
    allowance += record.grant(bytes - allowance, quantum: quantum, limit: limit) ?? 0
    note(in: &record)
    return take(bytes)
  }

  /// Replaces a reservation by the bytes that files actually grew by.
  ///
  /// - Parameter name: the entry, if it is open for writing.
  mutating func settle(_ bytes: Int64, actual: Int64, for name: String? = nil) {
    // Bytes that another program cut off stay counted until the entry is closed.
    let growth = max(0, actual)
    reserved -= bytes
    allowance += bytes - growth
    if let name { grown[name, default: 0] += growth }
  }

  /// Records that files of an open entry were removed.
  mutating func shrink(_ name: String, by bytes: Int64) { grown[name, default: 0] -= bytes }

  /// Settles an entry whose files will not change any more. Report afterwards.
  ///
  /// - Parameters:
  ///   - bytes: what was reserved for the entry besides its data, and for removed files of it that
  ///     are not read any more.
  ///   - growth: the growth of the files on disk since the entry was opened; nil if it cannot be
  ///     measured: then the reserve counts as written.
  ///   - isCounted: whether no measurement has replaced the count since the entry was opened.
  mutating func conclude(
    _ name: String, reserved bytes: Int64, growth: Int64?, isCounted: Bool,
    in record: inout UsageRecord
  ) {
    let counted = grown.removeValue(forKey: name) ?? 0
    let excess = growth.map { bytes + counted - $0 } ?? 0
    // No measurement has seen bytes of the reserve that were never written.
    let unwritten = min(excess, bytes)
    reserved -= bytes
    allowance += unwritten
    // A measurement may have found those missing already.
    if isCounted { record.free(excess - unwritten) }
  }

  /// The most that a cache with entries open for writing keeps unused.
  private static let most: Int64 = 8 << 20

  /// Covers an overdrawn allowance, regardless of the limit, and gives back what is too much of it:
  /// all, if this cache has no entry open for writing.
  mutating func report(to record: inout UsageRecord) {
    if allowance < 0 {
      allowance += record.grant(-allowance, limit: nil) ?? 0
    } else {
      let rest = max(0, allowance - (reserved == 0 ? 0 : Self.most))
      allowance -= rest
      record.ungrant(rest)
    }
    note(in: &record)
  }

  private func note(in record: inout UsageRecord) {
    let process = Int64(ProcessInfo.processInfo.processIdentifier)
    record.note(.init(id: id, process: process, outstanding: outstanding))
  }
}
