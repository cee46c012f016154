// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Manifests that neither their type nor their URL names: only their first bytes show them.
extension Manifest {
  /// The number of bytes in which a tag of HLS, or the root of an MPD, shows a manifest.
  package static let longestBeginning = 16 << 10

  /// Types that state nothing, those of servers that offer every file for download, those that
  /// scripts have if they set none, and those of XML.
  private static let unspecificTypes: Set<String> = [
    "application/octet-stream", "binary/octet-stream", "application/force-download",
    "application/download", "application/x-download", "text/plain", "text/html",
    "application/json", "application/xml", "text/xml",
  ]

  /// Whether a resource without a manifest's name may be one by its content: its type does not state
  /// another one, and it is not longer than any manifest.
  ///
  /// - Parameter length: in bytes; nil if it is unknown.
  package static func mayBeUnnamed(mimeType: String?, length: Int64?) -> Bool {
    guard length ?? 0 <= longest else { return false }
    return mimeType.map { unspecificTypes.contains($0) } ?? true
  }

  /// Whether a whole body is that of a manifest, by its content alone.
  static func isShown(by body: [UInt8]) -> Bool {
    isBeginning(Array(body.prefix(longestBeginning)), isWhole: true) == true
  }

  /// Returns whether the first bytes are those of an HLS playlist that has a tag of HLS, or of an
  /// MPD; nil if further bytes may show it. A list of songs is neither. The first byte of most media
  /// is enough.
  ///
  /// - Parameter isWhole: whether no bytes follow.
  package static func isBeginning(_ bytes: [UInt8], isWhole: Bool) -> Bool? {
    let isAll = isWhole || bytes.count >= longestBeginning
    if bytes.count == 1, !isAll, [0x00, 0xFE, 0xFF].contains(bytes[0]) { return nil }
    let bytes = utf8(ofWide: bytes) ?? bytes
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    var start = 0
    if bytes.starts(with: mark) {
      start = mark.count
    } else if !isAll, mark.starts(with: bytes) {
      return nil
    }
    while start < bytes.count, bytes[start].isMarkupSpace { start += 1 }
    guard start < bytes.count else { return isAll ? false : nil }
    let answer: Bool?
    switch bytes[start] {
    case UInt8(ascii: "#"): answer = isPlaylist(bytes, from: start)
    case UInt8(ascii: "<"): answer = isPage(bytes[start...]) ? false : isDescription(bytes)
    default: return false
    }
    return answer ?? (isAll ? false : nil)
  }

  /// Nil if further bytes may show it.
  private static func isPlaylist(_ bytes: [UInt8], from start: Int) -> Bool? {
    let name = Array("#EXTM3U".utf8)
    let found = bytes[start...].prefix(name.count)
    guard found.count == name.count else { return name.starts(with: found) ? nil : false }
    guard found.elementsEqual(name) else { return false }
    return StreamParts.isStream(playlist: bytes) ? true : nil
  }

  /// Whether a text is a web page, which a server may send piece by piece.
  private static func isPage(_ text: ArraySlice<UInt8>) -> Bool {
    let start = Array("<!doctype html".utf8)
    return text.count >= start.count
      && zip(start, text).allSatisfy { $0 == $1 || $0 == $1 | 0x20 }
  }

  /// Nil if further bytes may show it.
  private static func isDescription(_ bytes: [UInt8]) -> Bool? {
    var scanner = MarkupScanner(bytes)
    while let token = scanner.next() {
      switch token {
      case .text(let range) where MarkupText.trimmed(range, in: bytes).isEmpty: continue
      case .start(let name, _): return DASHElement(root: bytes[name]) == .mpd
      // A tag or a declaration may be cut off here.
      default: return nil
      }
    }
    return nil
  }

  // MARK: Other encodings

  /// Whether a body may be a manifest in UTF-16 or UTF-32. Its references are not found, so that it
  /// would lead clients past a proxy.
  package static func isWide(_ body: [UInt8]) -> Bool {
    let start = Array(body.prefix(256))
    return utf8(ofWide: start) != nil && mayBegin(with: Data(start))
  }

  /// Returns the UTF-8 of a text in UTF-16 or UTF-32 that begins with a byte order mark or a
  /// character of ASCII (XML 1.0 appendix F); nil for other bytes.
  static func utf8(ofWide bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count >= 2 else { return nil }
    let isBigEndian: Bool
    switch (bytes[0], bytes[1]) {
    case (0xFE, 0xFF), (0, _): isBigEndian = true
    case (0xFF, 0xFE), (_, 0): isBigEndian = false
    default: return nil
    }
    let characters = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
      let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isBigEndian ? first << 8 | second : second << 8 | first
    }
    // UTF-32 adds zeros, which no text has.
    return Array(String(decoding: characters.filter { $0 != 0 }, as: UTF16.self).utf8)
  }
}
