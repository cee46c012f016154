// SPDX-License-Identifier: MIT
import Foundation

/// The languages of the tracks that a listener selected last: those of other media in the same
/// languages are then selected from the start.
public struct TrackLanguages: Sendable, Hashable, Codable {
  /// A code of ISO 639, or a tag of RFC 5646, as the media states it; nil: the media decides.
  public var audio: String?
  public var subtitle: String?

  public init(audio: String? = nil, subtitle: String? = nil) {
    self.audio = audio
    self.subtitle = subtitle
  }

  /// Returns the codes by which media may state a language: `ger`, `deu` and `de` are the same.
  static func codes(of language: String) -> [String] {
    let language = language.lowercased()
    // A comma would separate languages.
    guard !language.isEmpty, language != "und",
      language.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
    else { return [] }
    let first = String(language.prefix { $0 != "-" })
    let terminological = bibliographic[first] ?? first
    let code = Locale.LanguageCode(terminological)
    let all =
      [language, first, code.identifier(.alpha2), code.identifier(.alpha3), terminological]
      .compactMap(\.self) + bibliographic.filter { $0.value == code.identifier(.alpha3) }.map(\.key)
    var seen: Set<String> = []
    return all.filter { seen.insert($0).inserted }
  }

  /// Returns the first track in a language; one in the same variety of it (`pt-BR`) precedes others.
  static func track(in language: String, among tracks: [MediaTrack]) -> MediaTrack? {
    for code in codes(of: language) {
      let track = tracks.first { $0.language.map { codes(of: $0).contains(code) } ?? false }
      if let track { return track }
    }
    return nil
  }

  /// The bibliographic codes of ISO 639-2, which Matroska uses, and the terminological ones.
  private static let bibliographic = [
    "alb": "sqi", "arm": "hye", "baq": "eus", "bur": "mya", "chi": "zho", "cze": "ces",
    "dut": "nld", "fre": "fra", "geo": "kat", "ger": "deu", "gre": "ell", "ice": "isl",
    "mac": "mkd", "mao": "mri", "may": "msa", "per": "fas", "rum": "ron", "slo": "slk",
    "tib": "bod", "wel": "cym",
  ]
}
