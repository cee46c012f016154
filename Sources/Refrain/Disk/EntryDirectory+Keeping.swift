// SPDX-License-Identifier: MIT

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
    guard let wanted, !isMarked else { return }
    disk.close(try disk.open("\(path)/\(wanted)", .create))
  }
}
