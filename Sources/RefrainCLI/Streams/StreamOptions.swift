// SPDX-License-Identifier: MIT
import ArgumentParser
import Refrain
import RefrainStreams

/// The options that choose parts of an HLS or DASH stream.
struct StreamOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The quality of a stream: 'best', 'worst', a height as in 720 or 720p, or a bit rate as in 3M \
      or 800k; of those the best that does not exceed it. Default: best; with --offline, the best \
      that is stored.
      """,
      valueName: "quality"),
    transform: { text in try usage { try StreamArgument.quality(text) } })
  var quality = StreamChoice.Quality.standard

  @Option(
    help: ArgumentHelp(
      "The languages of a stream's sound, as in de,en, or 'all'. Default: the stream's default.",
      valueName: "languages"),
    transform: { text in try usage { try StreamArgument.languages(text, allowsNone: false) } })
  var audio = StreamChoice.Languages.standard

  @Option(
    help: ArgumentHelp(
      "The languages of a stream's subtitles, as in de,en, or 'all'. Default: none.",
      valueName: "languages"),
    transform: { text in try usage { try StreamArgument.languages(text, allowsNone: true) } })
  var subtitles = StreamChoice.Languages.none

  @Flag(
    help: """
      Print the qualities and languages of a stream, with their sizes, and fetch nothing. The size \
      of a stream of one quality may follow from the first bytes of some segments.
      """)
  var list = false

  var choice: StreamChoice {
    var choice = StreamChoice()
    (choice.quality, choice.audio, choice.subtitles) = (quality, audio, subtitles)
    return choice
  }
}

/// The choice of a stream's parts on the command line.
enum StreamArgument {
  private static let greatestHeight = 100_000

  /// Reads `best`, `worst`, `720`, `720p`, `3M` or `800k`. Bit rates count in 1000s.
  static func quality(_ text: String) throws -> StreamChoice.Quality {
    let text = text.lowercased()
    let wrong = InvalidArgument(
      "a quality is 'best', 'worst', a height as in 720p, or a bit rate as in 3M or 800k")
    switch text {
    case "best": return .best
    case "worst": return .worst
    default: break
    }
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard digits.first?.isNumber == true, let number = Double(digits), number > 0, number < 1e9
    else { throw wrong }
    switch text.dropFirst(digits.count) {
    case "", "p":
      guard let height = Int(digits), height <= greatestHeight else { throw wrong }
      return .height(height)
    case "k": return .bitRate(Int64(number * 1000))
    case "m": return .bitRate(Int64(number * 1_000_000))
    default: throw wrong
    }
  }

  /// Reads `de,en`, `all`, `default` or, where allowed, `none`.
  static func languages(_ text: String, allowsNone: Bool) throws -> StreamChoice.Languages {
    switch text.lowercased() {
    case "all": return .all
    case "default": return .standard
    case "none" where allowsNone: return .none
    default: break
    }
    let languages = text.split(separator: ",", omittingEmptySubsequences: false).map {
      String($0.drop { $0 == " " })
    }
    // A language tag (RFC 5646 §2.1).
    let isValid = languages.allSatisfy { language in
      (1...35).contains(language.count)
        && language.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    }
    guard isValid else {
      throw InvalidArgument("languages are codes with commas between them, as in de,en, or 'all'")
    }
    return .some(languages)
  }
}
