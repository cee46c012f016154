// SPDX-License-Identifier: MIT
import Foundation

/// The title and the language that the name of a subtitle's file states, as in `film.de.srt`. A
/// pure value.
struct SubtitleName: Hashable {
  /// The name of the file on one line, with its middle left out if it is long; nil: the URL names
  /// none.
  let title: String?
  /// The language as the name spells it, its first part in lower case; nil: the name states none.
  let language: String?
  /// Whether the name marks the subtitle as one that is also shown to those who understand the
  /// sound.
  let isForced: Bool

  init(of url: URL) {
    let name = url.lastPathComponent
    title = name == "/" ? nil : PlaylistText.shown(name).map { Self.shortened($0) }
    let ending = Self.ending(of: name)
    language = ending.language
    isForced = ending.marks.contains("forced")
  }

  /// The name as the last part of an address: letters, digits and a few marks that no program
  /// interprets.
  var addressPart: String? {
    guard let title else { return nil }
    let characters = title.map { character -> Character in
      let isPlain = character.isLetter || character.isNumber || " .-_()[]".contains(character)
      return isPlain ? character : "_"
    }
    // Two dots would name a folder.
    return characters.allSatisfy { $0 == "." } ? nil : String(characters)
  }

  /// The maximum length of a title, in characters.
  private static let limit = 80

  /// The end of a name states its language: of a long one, both ends are kept.
  private static func shortened(_ name: String) -> String {
    guard name.count > limit else { return name }
    return "\(name.prefix(limit / 2))…\(name.suffix(limit / 2 - 1))"
  }

  // MARK: The language

  /// Returns the language before the extension of a file's name, behind a dot or in brackets:
  /// `film.de.srt`, `film (pt-BR).vtt`, `film.en.forced.ass`. Letters of other words may be taken
  /// for a language.
  static func language(in name: String) -> String? { ending(of: name).language }

  /// Returns the language and the marks at the end of a name, in whatever order.
  private static func ending(of name: String) -> (language: String?, marks: Set<String>) {
    guard let dot = name.lastIndex(of: ".") else { return (nil, []) }
    var rest = trimmed(name[..<dot])
    var language: String?
    var found: Set<String> = []
    while let (stem, tag) = splitTag(off: rest) {
      let mark = tag.lowercased()
      if marks.contains(mark) {
        found.insert(mark)
      } else {
        guard language == nil, isLanguage(tag) else { break }
        language = spelled(tag)
      }
      rest = trimmed(stem)
    }
    // Alone, `hi` is Hindi.
    return (language ?? (found.contains("hi") ? "hi" : nil), found)
  }

  /// The words beside a language that state another property: for the hearing impaired, or only
  /// signs and other languages.
  static let marks: Set<String> = ["cc", "forced", "hi", "sdh"]

  /// Returns the tag at the end of a name and what precedes it; nil: there is none, or nothing else.
  static func splitTag(off name: Substring) -> (stem: Substring, tag: Substring)? {
    let opening: Character
    var rest = name
    switch name.last ?? "." {
    case ")": opening = "("
    case "]": opening = "["
    default: opening = "."
    }
    if opening != "." { rest.removeLast() }
    guard let index = rest.lastIndex(of: opening), index > rest.startIndex else { return nil }
    return (rest[..<index], rest[rest.index(after: index)...])
  }

  static func trimmed(_ name: Substring) -> Substring {
    var name = name
    while name.last == " " { name.removeLast() }
    return name
  }

  /// Whether a tag has the shape of RFC 5646: a language of two or three letters, and subtags of at
  /// most eight letters and digits.
  static func isLanguage(_ tag: Substring) -> Bool {
    let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
    guard let first = parts.first, (2...3).contains(first.count), parts.count <= 4 else {
      return false
    }
    return first.allSatisfy { $0.isASCII && $0.isLetter }
      && parts.dropFirst().allSatisfy { part in
        (1...8).contains(part.count)
          && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
      }
  }

  private static func spelled(_ tag: Substring) -> String {
    let first = tag.prefix { $0 != "-" }
    return "\(first.lowercased())\(tag.dropFirst(first.count))"
  }
}
