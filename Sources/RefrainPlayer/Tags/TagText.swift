// SPDX-License-Identifier: MIT
import Foundation

/// The texts of tags, and their encodings. Pure functions.
enum TagText {
  /// The encodings of ID3v2 (§4 of ID3v2.4.0-structure), by their numbers.
  enum Encoding: UInt8 {
    case latin1 = 0
    case utf16 = 1
    case utf16BigEndian = 2
    case utf8 = 3
  }

  /// The most bytes of a text that are read.
  static let limit = 4 << 10

  /// Returns a text for display; nil if nothing is left. Several values, separated by zeros, are
  /// joined by commas.
  static func decoded(_ bytes: some Collection<UInt8>, _ encoding: Encoding) -> String? {
    let text =
      switch encoding {
      case .latin1: latin1(bytes)
      case .utf8: String(decoding: bytes, as: UTF8.self)
      case .utf16: utf16(bytes, isBigEndian: false)
      case .utf16BigEndian: utf16(bytes, isBigEndian: true)
      }
    // Together they are no longer than one may be.
    return shown(text.split(separator: "\0").compactMap(shown).joined(separator: ", "))
  }

  /// Returns a text without a stated encoding: UTF-8 where it is valid, else Latin-1. It ends at a
  /// zero.
  static func decoded(_ bytes: some Collection<UInt8>) -> String? {
    let bytes = bytes.prefix { $0 != 0 }
    return shown(String(validating: bytes, as: UTF8.self) ?? latin1(bytes))
  }

  /// Returns a text on one line, without characters that control a terminal; nil if nothing is
  /// left.
  static func shown(_ text: some StringProtocol) -> String? { PlaylistText.shown(text) }

  private static func latin1(_ bytes: some Collection<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.lazy.map { Unicode.Scalar($0) }))
  }

  /// A byte order mark decides over the stated order. A half code unit at the end is left out.
  private static func utf16(_ bytes: some Collection<UInt8>, isBigEndian: Bool) -> String {
    var rest = ArraySlice(Array(bytes))
    var units: [UInt16] = []
    var isBigEndian = isBigEndian
    while rest.count >= 2 {
      let pair = rest.prefix(2)
      rest = rest.dropFirst(2)
      let unit = UInt16(isBigEndian ? pair.bigEndian : pair.littleEndian)
      switch unit {
      // Each of several values may have a mark.
      case 0xFEFF: break
      case 0xFFFE: isBigEndian.toggle()
      default: units.append(unit)
      }
    }
    return String(decoding: units, as: UTF16.self)
  }
}

/// The fields of tags while they are collected. A pure value.
struct TagFields: Sendable, Hashable {
  enum Name: Sendable, Hashable {
    case title, artist, album, albumArtist
  }

  private var values: [Name: String] = [:]

  /// The first value of a field counts.
  mutating func add(_ value: String?, as name: Name) {
    if let value, values[name] == nil { values[name] = value }
  }

  /// Adds a further value of a field that may occur several times.
  mutating func append(_ value: String?, as name: Name) {
    guard let value else { return }
    guard let before = values[name] else {
      values[name] = value
      return
    }
    values[name] = PlaylistText.shown("\(before), \(value)")
  }

  /// Adds the fields that are missing here.
  mutating func add(_ other: TagFields) { values.merge(other.values) { own, _ in own } }

  var isEmpty: Bool { values.isEmpty }

  /// Whether nothing more is looked for.
  var isComplete: Bool {
    values[.title] != nil && values[.artist] != nil && values[.album] != nil
  }

  var hasTitle: Bool { values[.title] != nil }

  /// Nil if there is none.
  var metadata: MediaMetadata? {
    guard !isEmpty else { return nil }
    return MediaMetadata(
      title: values[.title], artist: values[.artist] ?? values[.albumArtist],
      album: values[.album])
  }
}
