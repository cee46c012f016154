// SPDX-License-Identifier: MIT
import Refrain

/// The prolog of an XML document (XML 1.0 §2.8), checked before a parser sees the document.
enum XMLProlog {
  /// Returns the document without the declaration of its encoding: it is decoded already.
  ///
  /// - Throws: `MediaCacheError` if it has a document type. No playlist needs one, and only there
  ///   can entities be declared that grow without bounds or open files.
  static func withoutDeclaration(_ source: String) throws(MediaCacheError) -> String {
    var rest = source.utf8[...]
    rest = rest.drop(while: isSpace)
    if rest.starts(with: "<?xml".utf8), let end = after("?>", in: rest) { rest = rest[end...] }
    let document = rest
    while true {
      rest = rest.drop(while: isSpace)
      if rest.starts(with: "<!--".utf8), let end = after("-->", in: rest) {
        rest = rest[end...]
      } else if rest.starts(with: "<?".utf8), let end = after("?>", in: rest) {
        rest = rest[end...]
      } else {
        break
      }
    }
    guard !rest.starts(with: "<!".utf8) else {
      throw MediaCacheError(
        .invalidResponse,
        "The file is a web page or begins with a document type, and is not a playlist.",
        remedy: "Check that the URL is the playlist's, and not that of a page that shows it.")
    }
    // The declaration's line breaks stay: errors state the right line numbers.
    let lines = source.utf8[..<document.startIndex].count { $0 == 0x0A }
    return String(repeating: "\n", count: lines)
      + withoutInstructions(String(Substring(document)))
  }

  /// Returns the document with spaces in place of processing instructions (XML 1.0 §2.6), which
  /// carry nothing for playlists. Foundation's parser on Linux ends the process at one that
  /// consists of a name ("<?a?>").
  ///
  /// Text that looks like one in a comment or a CDATA section is replaced too: a parser cannot take
  /// anything that is left for an instruction.
  private static func withoutInstructions(_ document: String) -> String {
    var bytes = Array(document.utf8)
    let (less, mark, greater) = (UInt8(ascii: "<"), UInt8(ascii: "?"), UInt8(ascii: ">"))
    var isInside = false
    var start = 0
    var index = 0
    while index < bytes.count {
      let next = index + 1 < bytes.count ? bytes[index + 1] : 0
      if isInside {
        isInside = !(bytes[index] == mark && next == greater)
        if !isInside { bytes[index + 1] = 0x20 }
      } else if bytes[index] == less, next == mark {
        isInside = true
        start = index
      } else {
        index += 1
        continue
      }
      if bytes[index] != 0x0A { bytes[index] = 0x20 }
      index += 1
    }
    // An instruction without an end violates XML, and has to remain an error.
    if isInside { bytes[start] = less }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private static func after(
    _ mark: String, in text: Substring.UTF8View
  ) -> String.Index? {
    let mark = Array(mark.utf8)
    var index = text.startIndex
    while index < text.endIndex {
      if text[index...].starts(with: mark) { return text.index(index, offsetBy: mark.count) }
      text.formIndex(after: &index)
    }
    return nil
  }

  /// Returns the text escaped for an element, without characters that XML does not allow (§2.2).
  static func escaped(_ text: String) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped.append(contentsOf: "&amp;".unicodeScalars)
      case "<": escaped.append(contentsOf: "&lt;".unicodeScalars)
      case ">": escaped.append(contentsOf: "&gt;".unicodeScalars)
      case "\u{FFFE}", "\u{FFFF}": continue
      default: escaped.append(scalar)
      }
    }
    return String(escaped)
  }
}
