// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

extension Media {
  /// The number of bytes of the longest file of chapters that is read: 4 MiB.
  package static let longestChapterFile = 4 << 20

  /// Reads the chapters that `chaptersURL` names, in the format JSON Chapters of Podcasting 2.0.
  ///
  /// - Parameters:
  ///   - bytes: at most 4 MiB.
  ///   - url: the URL after redirects, to which pictures and pages are relative.
  /// - Returns: the chapters in order, without those that the file keeps out of lists (`toc`).
  /// - Throws: `MediaCacheError` with code `.invalidResponse` if the bytes are no such file.
  public static func chapters(
    _ bytes: Data, from url: URL
  ) throws(MediaCacheError) -> [Chapter] {
    guard bytes.count <= longestChapterFile else {
      throw MediaCacheError(
        .invalidResponse,
        "The file of chapters exceeds the limit of \(longestChapterFile >> 20) MiB.",
        remedy: "Check the feed that names it.")
    }
    let file: ChapterFile
    do {
      file = try JSONDecoder().decode(ChapterFile.self, from: bytes)
    } catch {
      throw MediaCacheError(
        .invalidResponse, "The file is not one of chapters in JSON.",
        remedy: "Check the feed that names it.")
    }
    let location = PlaylistLocation(of: url)
    func resolved(_ text: String?) -> URL? {
      guard let text, !text.isEmpty else { return nil }
      return try? location.resolve(text, as: .uri)
    }
    return file.chapters.prefix(ChapterFile.limit).compactMap { chapter in
      guard chapter.toc != false, let start = Duration(ofMedia: chapter.startTime) else {
        return nil
      }
      return Chapter(
        start: start, title: chapter.title.flatMap { PlaylistText.shown($0) },
        link: resolved(chapter.url), artwork: resolved(chapter.img))
    }.sorted { $0.start < $1.start }
  }
}

/// "JSON Chapters Format" of https://github.com/Podcastindex-org/podcast-namespace
private struct ChapterFile: Decodable {
  struct Chapter: Decodable {
    var startTime: Double
    var title: String?
    var img: String?
    var url: String?
    var toc: Bool?
  }

  static let limit = 1000

  var chapters: [Chapter]
}
