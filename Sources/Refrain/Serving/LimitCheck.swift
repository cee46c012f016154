// SPDX-License-Identifier: MIT

extension MediaReader {
  /// Refuses a range that could never be stored, before anything is evicted for it.
  ///
  /// - Throws: `MediaCacheError`, `.storage`, naming the wanted size and the limit.
  func checkLimit(_ wanted: Int64) throws(MediaCacheError) {
    let budget = entry.context.budget
    guard let limit = budget.limit, !budget.canHold(wanted, for: entry.name) else { return }
    let size = DiskBudget.text(wanted)
    let pinned = budget.pinnedBytes(except: entry.name)
    let besides = pinned > 0 ? ", of which pinned entries take \(DiskBudget.text(pinned))" : ""
    var error = MediaCacheError(
      .storage,
      "\(size) cannot be stored: the limit of the cache is \(DiskBudget.text(limit))\(besides).",
      remedy: pinned > 0
        ? "Raise the limit, unpin other entries, or play the resource without storing it."
        : "Raise the limit above \(size), or play the resource without storing it.")
    error.hasNoRoom = true
    throw error
  }
}

extension DiskBudget {
  /// Returns a size for errors, such as `12 MiB`.
  static func text(_ bytes: Int64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
    guard let (unit, shift) = units.first(where: { bytes >= 10 << $0.1 }) else {
      return "\(bytes) bytes"
    }
    return "\(bytes >> shift) \(unit)"
  }
}
