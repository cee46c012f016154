// SPDX-License-Identifier: MIT

/// Properties of a reader and its resource that are available without waiting.
extension MediaReader {
  /// The stored ranges of this reader's generation.
  public var cachedSpans: RangeSet<Int64> {
    generation.withState { $0.stored }
  }

  /// The known properties of the resource, without waiting.
  var knownInformation: ContentInformation? {
    generation.withState { $0.info }
  }

  /// Whether incoming bytes are stored: not while the disk is full, the entry is too large for the
  /// limit, another process writes it, or the origin forbids it.
  package var isStoring: Bool {
    generation.withState { !$0.isTransient }
  }

  /// Whether the stream cannot be read again: a station's, or one of unknown length that is not
  /// stored and whose origin supports no ranges. False while nothing is known; may become true
  /// later, when storing ends.
  package var isPassing: Bool {
    generation.withState { state in
      guard !state.isLive else { return true }
      guard state.isTransient, let info = state.info else { return false }
      return info.length == nil && !info.supportsRanges
    }
  }

  /// Whether the length is known; nil while nothing is known.
  package var hasKnownLength: Bool? { knownInformation.map { $0.length != nil } }

  public struct Statistics: Sendable, Hashable {
    /// The bytes handed to this reader.
    public var bytesRead: Int64 = 0
    /// The bytes handed to this reader that were stored before it was opened. A byte read several
    /// times counts once, so that this never exceeds the length of the resource.
    public var bytesFromDisk: Int64 = 0
    /// The bytes received from the origin for this resource since the reader was opened, for any
    /// reader.
    public var bytesFromOrigin: Int64 = 0
    /// The requests sent to the origin for this resource since the reader was opened.
    public var requests = 0

    public init() {}
  }
}

extension MediaReader {
  /// Whether the response that is known names a document (`DocumentRules`), and is not too long.
  var isDocument: Bool {
    generation.withState(\.representation.isDocument)
  }

  /// The key of the first resource of the group to which the resource is known to belong; nil if
  /// none is.
  package var group: CacheKey? { entry.group.map { CacheKey(rawValue: $0) } }

  /// Returns the live stream's title at a byte of this reader, as far as received; nil if none
  /// is known. The latest 64 titles are kept. `CacheEvent.streamTitle` reports each change.
  public func streamTitle(at offset: Int64) -> StreamTitle? {
    generation.withState { $0.representation.titles.title(at: offset) }
  }
}
