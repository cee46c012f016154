// SPDX-License-Identifier: MIT

/// A line of a CUE sheet, as the manual of CDRWIN describes them. A pure value.
enum CueLine: Equatable {
  /// `FILE "name" TYPE`
  case file(name: Substring, type: String)
  /// `TRACK 01 AUDIO`
  case track(number: Int?, type: String)
  /// `INDEX 01 03:25:40`; the time is nil if it is not valid.
  case index(number: Int?, Duration?)
  case title(Substring)
  case performer(Substring)
  /// A command that does not matter for playing.
  case other

  /// Nil if the line begins with no command of CUE sheets.
  init?(_ line: Substring) {
    let command = line.prefix { $0 != " " && $0 != "\t" }
    guard command.utf8.count <= 12 else { return nil }
    let rest = PlaylistText.trimmed(line[command.endIndex...])
    switch command.uppercased() {
    case "FILE": self = Self.file(rest)
    case "TRACK":
      let words = Self.words(rest)
      self = .track(number: words.first.flatMap { Int($0) }, type: Self.upper(words.last))
    case "INDEX":
      let words = Self.words(rest)
      self = .index(
        number: words.first.flatMap { Int($0) },
        words.count > 1 ? Self.time(words[1]) : nil)
    case "TITLE": self = .title(Self.unquoted(rest))
    case "PERFORMER": self = .performer(Self.unquoted(rest))
    case "REM", "CATALOG", "CDTEXTFILE", "FLAGS", "ISRC", "POSTGAP", "PREGAP", "SONGWRITER":
      self = .other
    default: return nil
    }
  }

  /// Without quotes the last word is the type.
  private static func file(_ text: Substring) -> CueLine {
    if text.first == "\"", let close = text.dropFirst().lastIndex(of: "\"") {
      let name = text[text.startIndex..<close].dropFirst()
      return .file(name: name, type: upper(PlaylistText.trimmed(text[close...].dropFirst())))
    }
    guard let space = text.utf8.lastIndex(where: { $0 == 0x20 || $0 == 0x09 }) else {
      return .file(name: text, type: "")
    }
    return .file(
      name: PlaylistText.trimmed(text[..<space]),
      type: upper(text[space...].dropFirst()))
  }

  private static func upper(_ text: Substring?) -> String {
    text?.prefix(16).uppercased() ?? ""
  }

  private static func words(_ text: Substring) -> [Substring] {
    text.split(maxSplits: 3, omittingEmptySubsequences: true) { $0 == " " || $0 == "\t" }
  }

  private static func unquoted(_ text: Substring) -> Substring {
    guard text.count > 1, text.first == "\"", text.last == "\"" else { return text }
    return text.dropFirst().dropLast()
  }

  /// Parses minutes, seconds and frames, of which a second has 75: `03:25:40`.
  private static func time(_ text: Substring) -> Duration? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      let minutes = Int(parts[0]), let seconds = Int(parts[1]), let frames = Int(parts[2]),
      minutes < 100_000, seconds < 60, frames < 75
    else { return nil }
    return Duration(ofMedia: Double(minutes * 60 + seconds) + Double(frames) / 75)
  }
}
