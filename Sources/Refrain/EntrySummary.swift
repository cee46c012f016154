// SPDX-License-Identifier: MIT
public import Foundation

/// The stored state of one resource.
public struct EntrySummary: Sendable, Hashable {
  public var key: CacheKey
  public var url: URL
  /// The length in bytes; nil while unknown.
  public var length: Int64?
  public var mimeType: String?
  public var validator: String?
  /// The stored ranges.
  public var spans: RangeSet<Int64>
  public var cachedBytes: Int64
  /// The disk space of the entry, in bytes of allocated blocks.
  public var allocatedBytes: Int64
  public var lastAccess: Date
  public var isComplete: Bool
  /// Whether a process has the entry open for writing.
  public var isInUse: Bool
  /// Whether the entry is pinned, and never evicted (`MediaCache.pin(_:)`).
  public var isPinned: Bool
  /// The data file; sparse while the entry is incomplete.
  public var file: URL
  /// The key of the first resource of the group as a part of which the entry was last recorded
  /// (`ResourcePolicy.Group`); nil if none is known. Nil, too, for the first resource itself.
  public var group: CacheKey?
}
