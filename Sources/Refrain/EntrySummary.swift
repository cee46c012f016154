// SPDX-License-Identifier: MIT
public import Foundation

/// What is stored of one resource.
public struct EntrySummary: Sendable, Hashable {
  public var key: CacheKey
  public var url: URL
  /// In bytes; nil while it is unknown.
  public var length: Int64?
  public var mimeType: String?
  public var validator: String?
  /// The ranges that are stored.
  public var spans: RangeSet<Int64>
  public var cachedBytes: Int64
  /// What it takes on disk, in allocated blocks.
  public var allocatedBytes: Int64
  public var lastAccess: Date
  public var isComplete: Bool
  /// A process has it open for writing.
  public var isInUse: Bool
  /// The data file: sparse while the entry is not complete.
  public var file: URL
}
