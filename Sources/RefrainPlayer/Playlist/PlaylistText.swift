// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// Decodes playlists, and prepares their texts for display.
package enum PlaylistText {
  /// Decodes UTF-8, or UTF-16 with a byte order mark. Other bytes predate UTF-8: they are decoded
  /// as Windows-1252, of which Latin-1 is a part.
  ///
  /// - Parameter isUTF8: whether only UTF-8 is possible: invalid bytes are replaced by U+FFFD.
  package static func decoded(_ bytes: Data, isUTF8: Bool) throws(MediaCacheError) -> String {
    var text: String?
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      text = String(data: bytes, encoding: .utf16)
    } else {
      let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
      let rest = bytes.dropFirst(start)
      text = String(validating: rest, as: UTF8.self)
      if text == nil, isUTF8 { text = String(decoding: rest, as: UTF8.self) }
      if text == nil {
        text =
          String(data: rest, encoding: .windowsCP1252) ?? String(data: rest, encoding: .isoLatin1)
      }
    }
    guard let text, !text.utf8.contains(0) else {
      throw MediaCacheError(
        .invalidResponse, "The file is not a playlist: it is not text.",
        remedy: "If it is media, play it directly.")
    }
    return text
  }

  /// The number of bytes by which a list is known.
  package static let beginning = 16 << 10

  /// Returns the text at the beginning of a list, without white space before it; nil if it is not
  /// text.
  package static func beginning(of bytes: Data) -> String? {
    let hasMark = bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
    // Most media have a zero soon; in a text, only UTF-16 has.
    guard hasMark || !bytes.prefix(512).contains(0) else { return nil }
    // An even number of bytes, because of UTF-16.
    let start = Data(bytes.prefix(beginning & ~1))
    guard let text = try? decoded(start, isUTF8: false) else { return nil }
    return String(text.drop { $0.isWhitespace || $0 == "\u{FEFF}" })
  }

  /// Returns the lines that are not empty, trimmed, with their numbers from 1 on. Lines end with
  /// LF, CRLF or CR.
  static func lines(of text: String) -> [(number: Int, text: Substring)] {
    var lines: [(number: Int, text: Substring)] = []
    let bytes = text.utf8
    var number = 1
    var start = bytes.startIndex
    func end(_ end: String.Index) {
      let line = trimmed(text[start..<end])
      if !line.isEmpty { lines.append((number, line)) }
    }
    var last: UInt8 = 0
    for index in bytes.indices {
      let byte = bytes[index]
      defer { last = byte }
      guard byte == 0x0A || byte == 0x0D else { continue }
      if byte == 0x0A, last == 0x0D {
        start = bytes.index(after: index)
        continue
      }
      end(index)
      number += 1
      start = bytes.index(after: index)
    }
    end(bytes.endIndex)
    return lines
  }

  static func trimmed(_ text: Substring) -> Substring {
    var bytes = text.utf8
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
    return Substring(bytes)
  }

  /// The maximum length of a title, in Unicode scalars.
  static let shownLimit = 1000

  /// Returns a title for display: on one line, without characters that control a terminal; nil if
  /// nothing is left.
  package static func shown(_ text: some StringProtocol) -> String? {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(shownLimit) {
      let isControl =
        scalar.properties.generalCategory == .control || scalar.value == 0x2028
        || scalar.value == 0x2029
      scalars.append(isControl ? " " : scalar)
    }
    let shown = String(scalars).trimmingCharacters(in: .whitespaces)
    return shown.isEmpty ? nil : shown
  }

  /// Splits "Artist - Title" at any dash with spaces around it. A track number is not an artist.
  static func artistAndTitle(_ shown: String) -> (artist: String?, title: String?) {
    for dash in [" - ", " – ", " — "] {
      guard let range = shown.range(of: dash) else { continue }
      let artist = Self.shown(shown[..<range.lowerBound])
      let title = Self.shown(shown[range.upperBound...])
      guard let artist, let title else { return (nil, artist ?? title) }
      let isNumber = artist.utf8.count <= 2 && artist.utf8.allSatisfy { (0x30...0x39).contains($0) }
      return isNumber ? (nil, shown) : (artist, title)
    }
    return (nil, shown)
  }

  /// Returns artist and title on one line, as M3U and PLS have them.
  static func line(for media: Media) -> String? {
    let (artist, title) = (media.artist.flatMap(shown), media.title.flatMap(shown))
    return artist.map { artist in title.map { "\(artist) - \($0)" } ?? artist } ?? title
  }
}
