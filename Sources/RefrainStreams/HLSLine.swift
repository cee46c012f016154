// SPDX-License-Identifier: MIT
import Refrain

/// A line of an HLS playlist that is not blank. Its slices have the indices of the playlist's body.
struct HLSLine {
  enum Content {
    /// The URI of a variant or of a segment.
    case uri(ManifestReference.Kind)
    /// A known tag, and what stands after its colon.
    case tag(HLSTag, value: ArraySlice<UInt8>)
    /// A comment or an unknown tag.
    case comment
  }

  var content: Content
  /// The line without the blanks around it and without its ending.
  var text: ArraySlice<UInt8>
  /// The bytes of the whole line, with its ending.
  var whole: Range<Int>

  /// The references of the line as they are spelled, without quotes. Every attribute with the name
  /// of one is one: of two with one name, players choose differently.
  var references: [(kind: ManifestReference.Kind, spelling: ArraySlice<UInt8>)] {
    switch content {
    case .uri(let kind): [(kind, text)]
    case .tag(let tag, let value):
      if let (kind, names) = tag.references {
        HLSAttributes(value).compactMap { attribute in
          !attribute.value.isEmpty && names.contains(where: attribute.isNamed)
            ? (kind, attribute.value) : nil
        }
      } else {
        []
      }
    case .comment: []
    }
  }
}

/// The lines of an HLS playlist. A line ends with LF, CRLF or CR, as in ffmpeg and hls.js.
struct HLSLines: Sequence, IteratorProtocol {
  private var rest: ArraySlice<UInt8>
  /// What the next line without a tag names.
  private var uriKind = ManifestReference.Kind.segment

  /// Nil if the body does not begin with `#EXTM3U`, after a byte order mark and blanks. Any text
  /// may follow on that line, as in hls.js.
  init?(playlist body: [UInt8]) {
    let start = body.starts(with: "\u{FEFF}".utf8) ? 3 : 0
    rest = body[start...].drop { $0.isBlank || $0.isLineEnding }
    guard rest.starts(with: "#EXTM3U".utf8) else { return nil }
  }

  /// - Parameter range: the bytes of the lines; it is limited to those of the body.
  init(_ body: [UInt8], in range: Range<Int>) {
    rest = body[range.clamped(to: body.indices)]
  }

  mutating func next() -> HLSLine? {
    while let start = rest.indices.first {
      let text = rest.removePrefix { !$0.isLineEnding }.trimmingBlanks
      rest = rest.dropFirst(rest.starts(with: "\r\n".utf8) ? 2 : 1)
      guard !text.isEmpty else { continue }
      return HLSLine(content: content(of: text), text: text, whole: start..<rest.startIndex)
    }
    return nil
  }

  private mutating func content(of text: ArraySlice<UInt8>) -> HLSLine.Content {
    guard text.first == UInt8(ascii: "#") else {
      defer { uriKind = .segment }
      return .uri(uriKind)
    }
    // No known name is longer.
    let name = text.dropFirst().prefix(32).prefix { $0 != UInt8(ascii: ":") }
    guard let tag = HLSTag(name: name) else { return .comment }
    if tag == .variant { uriKind = .playlist }
    if tag == .segment { uriKind = .segment }
    return .tag(tag, value: text[name.endIndex...].dropFirst())
  }
}

/// An attribute of a tag: `NAME=value` or `NAME="value"`.
struct HLSAttribute {
  var name: ArraySlice<UInt8>
  /// Without quotes.
  var value: ArraySlice<UInt8>
  /// Whether a quote stands at each end of the value.
  var isQuoted: Bool

  /// Whether the attribute has exactly this name.
  func isNamed(_ name: String) -> Bool { self.name.elementsEqual(name.utf8) }
}

/// The attribute list of a tag (RFC 8216 §4.2), in the order of the body.
///
/// Lenient, as players are: blanks around names and values have no meaning, a comma after a quoted
/// value may be missing, and a URI may lack its quotes. A value whose quote does not end is the rest
/// of the list, as in ffmpeg.
struct HLSAttributes: Sequence, IteratorProtocol {
  private var rest: ArraySlice<UInt8>

  /// - Parameter value: what stands after the colon of the tag.
  init(_ value: ArraySlice<UInt8>) { rest = value }

  /// Returns the value of the first attribute of exactly this name.
  subscript(name: String) -> ArraySlice<UInt8>? { first { $0.isNamed(name) }?.value }

  mutating func next() -> HLSAttribute? {
    while true {
      rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
      guard !rest.isEmpty else { return nil }
      let name = rest.removePrefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
      // A name without a value has no meaning.
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest = rest.dropFirst().drop(while: \.isBlank)
      let (value, isQuoted) = removeValue()
      return HLSAttribute(name: name.trimmingBlanks, value: value, isQuoted: isQuoted)
    }
  }

  private mutating func removeValue() -> (ArraySlice<UInt8>, isQuoted: Bool) {
    guard rest.first == UInt8(ascii: "\"") else {
      return (rest.removePrefix { $0 != UInt8(ascii: ",") }.trimmingBlanks, false)
    }
    rest = rest.dropFirst()
    let value = rest.removePrefix { $0 != UInt8(ascii: "\"") }
    defer { rest = rest.dropFirst() }
    return (value, !rest.isEmpty)
  }
}

/// Numbers of HLS playlists. None traps: integers saturate, other values are no numbers.
extension ArraySlice<UInt8> {
  /// The digits at the start, as players read them: `1280000.5` is 1280000.
  var integer: Int64? {
    let digits = drop(while: \.isBlank).prefix(while: \.isDigit)
    return Int64(saturatingDigits: String(decoding: digits, as: UTF8.self), at: .max)
  }

  /// A number that is not negative, up to a comma or a blank.
  var decimal: Double? {
    let longest = 64
    let number = drop(while: \.isBlank).prefix(longest + 1)
      .prefix { !$0.isBlank && $0 != UInt8(ascii: ",") }
    guard number.count <= longest, let value = Double(String(decoding: number, as: UTF8.self)),
      value.isFinite, value >= 0
    else { return nil }
    return value
  }

  /// A duration in seconds. Sums of them stay finite.
  var seconds: Double? { decimal.map { Swift.min($0, Double(CacheControl.longest)) } }

  /// The sides of `1920x1080`.
  var resolution: (width: Int, height: Int)? {
    guard let middle = firstIndex(where: { $0 | 0x20 == UInt8(ascii: "x") }),
      let width = self[..<middle].integer, let height = self[(middle + 1)...].integer
    else { return nil }
    return (Int(clamping: width), Int(clamping: height))
  }

  /// Returns the range of `length` or `length@offset` (RFC 8216 §4.3.2.2); nil if it is empty or
  /// beyond every resource.
  ///
  /// - Parameter start: the offset where the text states none.
  func byteRange(continuingAt start: Int64) -> ByteRange? {
    guard let length = integer, length > 0 else { return nil }
    var start = start
    if let at = firstIndex(of: UInt8(ascii: "@")) {
      guard let offset = self[(at + 1)...].integer else { return nil }
      start = offset
    }
    let (end, overflowed) = start.addingReportingOverflow(length)
    return overflowed || end == .max ? nil : start..<end
  }
}

extension ArraySlice<UInt8> {
  /// Without the spaces and tabs at both ends.
  fileprivate var trimmingBlanks: Self {
    let start = drop(while: \.isBlank)
    let end = start.lastIndex { !$0.isBlank }
    return end.map { start[...$0] } ?? start
  }

  /// Removes the longest prefix of bytes that satisfy a condition, and returns it.
  fileprivate mutating func removePrefix(while condition: (UInt8) -> Bool) -> Self {
    let removed = prefix(while: condition)
    self = self[removed.endIndex...]
    return removed
  }
}

extension UInt8 {
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

  fileprivate var isLineEnding: Bool { self == UInt8(ascii: "\n") || self == UInt8(ascii: "\r") }
}
