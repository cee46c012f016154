// SPDX-License-Identifier: MIT

/// What can be learned of a reader and its resource without waiting.
extension MediaReader {
  /// The ranges of this reader's generation that are stored.
  public var cachedSpans: RangeSet<Int64> {
    generation.withState { $0.stored }
  }

  /// What is known by now, without waiting.
  var knownInformation: ContentInformation? {
    generation.withState { $0.info }
  }

  /// Whether bytes that come now are stored: not while the disk is full, the entry is too large for
  /// the limit, another process writes it, or the origin forbids it.
  package var isStoring: Bool {
    generation.withState { !$0.isTransient }
  }

  public struct Statistics: Sendable, Hashable {
    /// Bytes handed to this reader.
    public var bytesRead: Int64 = 0
    /// Bytes handed to this reader that were stored before it was opened. A byte that is read
    /// several times counts once, so that this never exceeds the resource.
    public var bytesFromDisk: Int64 = 0
    /// Bytes that came from the origin for this resource since the reader was opened, for whichever
    /// reader.
    public var bytesFromOrigin: Int64 = 0
    /// Requests that were sent to the origin for this resource since the reader was opened.
    public var requests = 0

    public init() {}
  }
}
