// SPDX-License-Identifier: MIT

/// The subtitles in files beside a media file, found by their names. A pure rule.
///
/// Such a file has the name of the media, then at most one language and any of the marks of
/// `SubtitleName`: `film.srt`, `film.de.srt`, `film (fr).srt`, `film.pt-BR.sdh.srt` and
/// `film.en.forced.srt` belong to `film.mkv`; `filmstrip.srt` and `film.2.srt` do not. Upper case
/// equals lower case. libmpv's `--sub-auto=exact` (mpv(1)) finds only the first two of these in
/// version 0.35, and `fuzzy` takes those of other films.
enum SidecarSubtitles {
  /// Returns the names of the subtitles of a file, the one to select first: without any addition,
  /// then by language, for the hearing impaired, and forced ones.
  ///
  /// - Parameters:
  ///   - media: the file's name.
  ///   - names: the names in its folder.
  static func of(_ media: String, among names: [String]) -> [String] {
    let stem = SubtitleName.trimmed(parts(of: media).stem).lowercased()
    guard !stem.isEmpty else { return [] }
    let found = names.compactMap { name -> Found? in
      let (own, type) = parts(of: name)
      guard types.contains(type), let rank = Self.rank(of: own, beside: stem)
      else { return nil }
      return Found(name: name, stem: own.lowercased(), type: type, rank: rank)
    }
    // Pictures in two files: the index opens the other one.
    let indexes = Set(found.filter { $0.type == "idx" }.map(\.stem))
    return found.filter { $0.type != "sub" || !indexes.contains($0.stem) }
      .sorted { $0.rank == $1.rank ? MediaFiles.isInOrder($0.name, $1.name) : $0.rank < $1.rank }
      .map(\.name)
  }

  private struct Found {
    var name: String
    var stem: String
    var type: String
    var rank: Int
  }

  /// The extensions that libmpv 0.35 takes for subtitles beside a file.
  private static let types: Set<String> = [
    "ass", "idx", "lrc", "mks", "pgs", "rt", "scc", "smi", "srt", "ssa", "sub", "sup", "utf",
    "utf-8", "utf8", "vtt",
  ]

  /// Returns a name without its extension, and that in lower case.
  private static func parts(of name: String) -> (stem: Substring, type: String) {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return (name[...], "") }
    return (name[..<dot], name[name.index(after: dot)...].lowercased())
  }

  /// Returns the place of a subtitle among others; nil: its name is not that of the media.
  private static func rank(of name: Substring, beside media: String) -> Int? {
    var rest = SubtitleName.trimmed(name)
    var hasLanguage = false
    var rank = 0
    while rest.lowercased() != media {
      guard let (stem, tag) = SubtitleName.splitTag(off: rest) else { return nil }
      let mark = tag.lowercased()
      if SubtitleName.marks.contains(mark) {
        rank = max(rank, mark == "forced" ? 3 : 2)
      } else {
        guard !hasLanguage, SubtitleName.isLanguage(tag) else { return nil }
        hasLanguage = true
        rank = max(rank, 1)
      }
      rest = SubtitleName.trimmed(stem)
    }
    return rank
  }
}
