// SPDX-License-Identifier: MIT

/// Finds the references of an HLS playlist of either kind, one after the other, in linear time.
struct HLSReferenceScanner {
  /// A reference as it is spelled.
  struct Found {
    var kind: ManifestReference.Kind
    /// The bytes of the reference, without quotes.
    var range: Range<Int>
    /// The bytes of the whole line, with its line ending.
    var line: Range<Int>
    /// Whether this is an I-frame playlist.
    var isIFrames = false
  }

  /// Knows the variables that are defined so far.
  var reader: HLSReader
  /// Whether the playlist has variants so far.
  private(set) var isMultivariant = false
  /// Whether the playlist has said so far that it gets no more segments.
  private(set) var hasEnded = false
  /// The kind of the next line without a tag.
  private var uriKind = ManifestReference.Kind.segment
  /// The rest of a tag's attributes.
  private var attributes: (list: HLSAttributes, tag: HLSTag, line: Range<Int>)?

  init(_ reader: HLSReader) {
    self.reader = reader
  }

  mutating func next() -> Found? {
    while true {
      if attributes != nil {
        if let found = nextAttribute() { return found }
        attributes = nil
      }
      guard let line = reader.next() else { return nil }
      switch line.content {
      case .uri:
        defer { uriKind = .segment }
        return Found(kind: uriKind, range: line.text, line: line.whole)
      case .tag(.variant, _):
        isMultivariant = true
        uriKind = .playlist
      case .tag(.end, _):
        hasEnded = true
      case .tag(.segment, _):
        uriKind = .segment
      case .tag(let tag, let value):
        guard tag.referenceKind != nil else { continue }
        attributes = (reader.attributes(value), tag, line.whole)
      case .comment:
        break
      }
    }
  }

  /// Returns the next reference of a tag. Every attribute of its name is one: of two with one name,
  /// players choose differently.
  private mutating func nextAttribute() -> Found? {
    guard let (_, tag, line) = attributes, let kind = tag.referenceKind else { return nil }
    while let attribute = attributes?.list.next() {
      guard tag.isReference(reader.body, in: attribute.name), !attribute.value.isEmpty else {
        continue
      }
      return Found(
        kind: kind, range: attribute.value, line: line, isIFrames: tag == .iFrameVariant)
    }
    return nil
  }
}
