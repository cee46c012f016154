// SPDX-License-Identifier: MIT
import Foundation

/// Marks entries that are never evicted.
///
/// The mark is an empty file beside the record. So it can be set while another process writes the
/// entry and replaces its record, it outlives the generation, and listing the directory shows it.
/// Earlier versions of Refrain ignore or remove it.
extension EntryDirectory {
  static let pinName = "pinned"

  private var pinPath: String { "\(path)/\(Self.pinName)" }

  /// The longest time in which an eviction that has found no mark removes the record.
  private static let evictionStart: useconds_t = 50_000

  /// Marks the entry, durably.
  ///
  /// - Parameter isLocked: whether the caller holds the entry's lock.
  /// - Returns: false if there is no entry, or it is being evicted.
  func pin(isLocked: Bool = false) throws(DiskError) -> Bool {
    guard try disk.status(of: recordPath) != nil else { return false }
    do throws(DiskError) {
      // With the lock, no eviction is between looking for the mark and removing the record.
      let lock = isLocked ? nil : try WriterLock.acquire(self)
      defer { withExtendedLifetime(lock) {} }
      if try !isPinned { try disk.makeFile(pinPath) }
      // Another process writes the entry, or evicts it; eviction removes the record first.
      if lock == nil, !isLocked { usleep(Self.evictionStart) }
      // The first record of an entry does not survive a power cut by itself.
      try disk.syncFile(recordPath)
      try disk.syncDirectory(path)
      try syncParents()
    } catch {
      guard error.isMissing else { throw error }
      return false
    }
    let hasRecord = try disk.status(of: recordPath) != nil
    let hasMark = try isPinned
    return hasRecord && hasMark
  }

  var isPinned: Bool {
    get throws(DiskError) { try disk.status(of: pinPath) != nil }
  }

  /// Removes the mark, durably.
  ///
  /// - Returns: false if there was none.
  func unpin() throws(DiskError) -> Bool {
    guard try isPinned else { return false }
    try remove(pinPath)
    try disk.syncDirectory(path)
    return true
  }

  /// Returns the disk space that a pinned entry claims: all that it takes once it is complete, or
  /// takes already.
  ///
  /// - Parameter length: of the resource; nil while unknown.
  static func pinnedBytes(allocated: Int64, length: Int64?) -> Int64 {
    max(allocated, min(length ?? 0, longestLength) + besideData)
  }

  /// A bound of the claim, so that sums do not overflow if a damaged record names a huge length.
  private static let longestLength: Int64 = 1 << 45
  /// The directory and the record, a block each.
  private static let besideData: Int64 = 8192
}

/// Marks entries that stay only for a time after their last use (`ResourcePolicy.keep`).
///
/// The mark is an empty file beside the record, named by the time. As with a pin, listing the
/// directory shows it: a scan for entries to evict reads no records.
extension EntryDirectory {
  private static let keepPrefix = "keep-"

  /// Returns the seconds that a file of this name marks; nil if it is no such mark.
  static func keep(markedBy name: String) -> Int64? {
    guard name.hasPrefix(keepPrefix) else { return nil }
    return Int64(name.dropFirst(keepPrefix.count)).flatMap { $0 >= 0 ? $0 : nil }
  }

  /// Whether a file of this name is a mark, which belongs to the entry and to none of its
  /// generations.
  static func isMark(_ name: String) -> Bool { name == pinName || keep(markedBy: name) != nil }

  /// Replaces the mark.
  ///
  /// - Parameter seconds: nil: the entry stays for as long as there is room.
  func mark(keep seconds: Int64?) throws(DiskError) {
    let wanted = seconds.map { "\(Self.keepPrefix)\($0)" }
    var isMarked = false
    for name in try disk.names(in: path) where Self.keep(markedBy: name) != nil {
      if name == wanted { isMarked = true } else { try disk.removeFile("\(path)/\(name)") }
    }
    if let wanted, !isMarked { try disk.makeFile("\(path)/\(wanted)") }
  }
}
