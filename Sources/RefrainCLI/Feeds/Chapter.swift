// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// A chapter of a podcast's episode.
struct Chapter: Sendable, Hashable {
  /// The position in the episode at which the chapter begins.
  var start: Duration
  var title: String?

  /// The number of bytes of the longest file of chapters that is read: 4 MiB.
  static let longestFile = 4 << 20
  private static let limit = 1000

  /// Reads the file that `Media.chaptersURL` names, in the JSON Chapters Format
  /// (https://github.com/Podcastindex-org/podcast-namespace).
  ///
  /// - Returns: the chapters in order, without those that the file keeps out of lists (`toc`).
  /// - Throws: `MediaCacheError` with code `.invalidResponse` if the bytes are no such file.
  static func chapters(in bytes: Data) throws(MediaCacheError) -> [Chapter] {
    guard bytes.count <= longestFile else {
      throw MediaCacheError(
        .invalidResponse,
        "The file of chapters exceeds the limit of \(longestFile >> 20) MiB.",
        remedy: "Check the feed that names it.")
    }
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: bytes)
    } catch {
      throw MediaCacheError(
        .invalidResponse, "The file is not one of chapters in JSON.",
        remedy: "Check the feed that names it.")
    }
    return file.chapters.prefix(limit).compactMap { chapter in
      guard chapter.toc != false, let start = Duration(ofMedia: chapter.startTime) else {
        return nil
      }
      return Chapter(start: start, title: chapter.title.flatMap { PlaylistText.shown($0) })
    }.sorted { $0.start < $1.start }
  }

  private struct File: Decodable {
    struct Chapter: Decodable {
      var startTime: Double
      var title: String?
      var toc: Bool?
    }

    var chapters: [Chapter]
  }
}
