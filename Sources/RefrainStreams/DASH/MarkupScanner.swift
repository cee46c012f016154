// SPDX-License-Identifier: MIT

/// Cuts an XML document (XML 1.0, fifth edition) into its tokens, as byte ranges, in one pass.
///
/// A document that is not well-formed is read as far as its tokens are clear: a parser that is more
/// lenient than this one still sees the same bytes. Comments and processing instructions are
/// skipped.
package struct MarkupScanner {
  package enum Token: Equatable {
    /// A start tag; its attributes are in `attributes`.
    case start(name: Range<Int>, isEmpty: Bool)
    case end
    /// Character data, with its character references undecoded.
    case text(Range<Int>)
    /// The content of a CDATA section, which lies between `sectionStart` and `sectionEnd`.
    case section(Range<Int>)
    /// A declaration of a document type with an internal subset, or an unknown declaration. The
    /// entities that it declares are unknown here, and could multiply the document's size.
    case unsupported
  }

  package struct Attribute: Sendable, Equatable {
    package var name: Range<Int>
    /// Without the quotes.
    package var value: Range<Int>
  }

  static let sectionStart: StaticString = "<![CDATA["
  static let sectionEnd: StaticString = "]]>"

  package let body: [UInt8]
  /// The index behind the last token.
  package private(set) var position: Int
  /// The attributes of the last start tag.
  package private(set) var attributes: [Attribute] = []

  package init(_ body: [UInt8]) {
    self.body = body
    position = body.hasBytes("\u{FEFF}", at: 0) ? 3 : 0
  }

  /// Returns the next token; nil at the end, and for markup that does not end.
  package mutating func next() -> Token? {
    while position < body.count {
      guard isMarkup(at: position) else { return text() }
      switch body[position + 1] {
      case UInt8(ascii: "?"):
        guard skip("<?", to: "?>") else { return nil }
      case UInt8(ascii: "!"):
        if body.hasBytes("<!--", at: position) {
          guard skip("<!--", to: "-->") else { return nil }
        } else if body.hasBytes(Self.sectionStart, at: position) {
          let start = position + Self.sectionStart.utf8CodeUnitCount
          guard skip(Self.sectionStart, to: Self.sectionEnd) else { return nil }
          return .section(start..<position - Self.sectionEnd.utf8CodeUnitCount)
        } else if !body.hasBytes("<!DOCTYPE", at: position) || !skipDocumentType() {
          return .unsupported
        }
      case UInt8(ascii: "/"): return skip("</", to: ">") ? .end : nil
      default: return startTag()
      }
    }
    return nil
  }

  /// Whether markup begins here, and not a `<` that encloses nothing.
  private func isMarkup(at index: Int) -> Bool {
    guard body[index] == UInt8(ascii: "<"), index + 1 < body.count else { return false }
    switch body[index + 1] {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...,
      UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "!"), UInt8(ascii: "?"),
      UInt8(ascii: "/"):
      return true
    default: return false
    }
  }

  /// Skips a mark that stands here, and all to the end of the next one; false if that is missing.
  private mutating func skip(_ start: StaticString, to end: StaticString) -> Bool {
    position += start.utf8CodeUnitCount
    while position < body.count {
      if body.hasBytes(end, at: position) {
        position += end.utf8CodeUnitCount
        return true
      }
      position += 1
    }
    return false
  }

  private mutating func text() -> Token {
    let start = position
    repeat { position += 1 } while position < body.count && !isMarkup(at: position)
    return .text(start..<position)
  }

  /// Returns false for an internal subset; its entities would have to be expanded.
  private mutating func skipDocumentType() -> Bool {
    var quote: UInt8?
    while position < body.count {
      let byte = body[position]
      position += 1
      switch byte {
      case quote: quote = nil
      case _ where quote != nil: break
      case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
      case UInt8(ascii: "["): return false
      case UInt8(ascii: ">"): return true
      default: break
      }
    }
    return false
  }

  // MARK: Start tags

  private mutating func startTag() -> Token? {
    attributes.removeAll(keepingCapacity: true)
    position += 1
    let name = self.name()
    while position < body.count {
      if body[position].isMarkupSpace {
        position += 1
      } else if body.hasBytes(">", at: position) {
        position += 1
        return .start(name: name, isEmpty: false)
      } else if body.hasBytes("/>", at: position) {
        position += 2
        return .start(name: name, isEmpty: true)
      } else {
        addAttribute()
      }
    }
    return nil
  }

  /// Reads to the end of a name. It is empty where a delimiter begins.
  private mutating func name() -> Range<Int> {
    let start = position
    while position < body.count, !body[position].endsMarkupName { position += 1 }
    return start..<position
  }

  /// Reads `name="value"`. Anything else up to a delimiter is skipped.
  private mutating func addAttribute() {
    let name = self.name()
    skipSpace()
    guard body.hasBytes("=", at: position) else {
      // A delimiter that begins nothing: without this step the scan would not advance.
      if name.isEmpty, position < body.count { position += 1 }
      return
    }
    position += 1
    skipSpace()
    guard body.hasBytes("\"", at: position) || body.hasBytes("'", at: position) else { return }
    let start = position + 1
    position = body[start...].firstIndex(of: body[position]) ?? body.count
    guard position < body.count else { return }
    attributes.append(Attribute(name: name, value: start..<position))
    position += 1
  }

  private mutating func skipSpace() {
    while position < body.count, body[position].isMarkupSpace { position += 1 }
  }
}

extension UInt8 {
  /// Whether this is white space in XML (§2.3).
  package var isMarkupSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }

  fileprivate var endsMarkupName: Bool {
    switch self {
    case UInt8(ascii: "="), UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: "\""),
      UInt8(ascii: "'"):
      true
    default: isMarkupSpace
    }
  }
}

extension [UInt8] {
  /// Whether the text stands at an index.
  func hasBytes(_ text: StaticString, at start: Int) -> Bool {
    guard start >= 0, count - start >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { buffer in
      for index in 0..<buffer.count where self[start + index] != buffer[index] { return false }
      return true
    }
  }
}
