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

  package struct Attribute: Equatable {
    package var name: Range<Int>
    /// Without the quotes.
    package var value: Range<Int>
  }

  static let sectionStart = Array("<![CDATA[".utf8)
  static let sectionEnd = Array("]]>".utf8)
  private static let commentStart = Array("<!--".utf8)
  private static let commentEnd = Array("-->".utf8)
  private static let typeStart = Array("<!DOCTYPE".utf8)
  private static let instructionEnd = Array("?>".utf8)

  package let body: [UInt8]
  /// The index behind the last token.
  package private(set) var position: Int
  /// The attributes of the last start tag.
  package private(set) var attributes: [Attribute] = []

  package init(_ body: [UInt8]) {
    self.body = body
    position = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  /// Returns the next token; nil at the end, and for markup that does not end.
  package mutating func next() -> Token? {
    while position < body.count {
      guard isMarkup(at: position) else { return text() }
      switch body[position + 1] {
      case UInt8(ascii: "?"):
        guard let end = end(of: Self.instructionEnd, after: position + 2) else { return stop() }
        position = end
      case UInt8(ascii: "!"):
        if hasPrefix(Self.commentStart) {
          guard let end = end(of: Self.commentEnd, after: position + 4) else { return stop() }
          position = end
        } else if hasPrefix(Self.sectionStart) {
          let start = position + Self.sectionStart.count
          guard let end = end(of: Self.sectionEnd, after: start) else { return stop() }
          position = end
          return .section(start..<end - Self.sectionEnd.count)
        } else if !hasPrefix(Self.typeStart) || !skipDocumentType() {
          return .unsupported
        }
      case UInt8(ascii: "/"):
        guard let end = body[position...].firstIndex(of: UInt8(ascii: ">")) else { return stop() }
        position = end + 1
        return .end
      default: return startTag()
      }
    }
    return nil
  }

  private mutating func stop() -> Token? {
    position = body.count
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

  private func hasPrefix(_ prefix: [UInt8]) -> Bool {
    body[position...].starts(with: prefix)
  }

  /// Returns the index behind the next occurrence of a mark.
  private func end(of mark: [UInt8], after start: Int) -> Int? {
    var index = start
    while index + mark.count <= body.count {
      if body[index] == mark[0], body[index..<index + mark.count].elementsEqual(mark) {
        return index + mark.count
      }
      index += 1
    }
    return nil
  }

  private mutating func text() -> Token {
    let start = position
    position += 1
    while position < body.count, !isMarkup(at: position) { position += 1 }
    return .text(start..<position)
  }

  /// Returns false for an internal subset; its entities would have to be expanded.
  private mutating func skipDocumentType() -> Bool {
    var quote: UInt8?
    while position < body.count {
      let byte = body[position]
      position += 1
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: "[") {
        return false
      } else if byte == UInt8(ascii: ">") {
        return true
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
      let byte = body[position]
      if byte.isMarkupSpace {
        position += 1
      } else if byte == UInt8(ascii: ">") {
        position += 1
        return .start(name: name, isEmpty: false)
      } else if byte == UInt8(ascii: "/"), position + 1 < body.count,
        body[position + 1] == UInt8(ascii: ">")
      {
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
    while position < body.count {
      let byte = body[position]
      if byte.isMarkupSpace || byte == UInt8(ascii: "=") || byte == UInt8(ascii: ">")
        || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
      {
        break
      }
      position += 1
    }
    return start..<position
  }

  /// Reads `name="value"`. Anything else up to a delimiter is skipped.
  private mutating func addAttribute() {
    let name = self.name()
    skipSpace()
    guard position < body.count, body[position] == UInt8(ascii: "=") else {
      // A delimiter that begins nothing: without this step the scan would not advance.
      if name.isEmpty, position < body.count { position += 1 }
      return
    }
    position += 1
    skipSpace()
    guard position < body.count else { return }
    let quote = body[position]
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return }
    position += 1
    guard let end = body[position...].firstIndex(of: quote) else {
      position = body.count
      return
    }
    attributes.append(Attribute(name: name, value: position..<end))
    position = end + 1
  }

  private mutating func skipSpace() {
    while position < body.count, body[position].isMarkupSpace { position += 1 }
  }
}

extension UInt8 {
  /// Whether this is white space in XML (§2.3).
  package var isMarkupSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
