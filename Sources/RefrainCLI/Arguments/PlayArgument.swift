// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// An argument of `play`: a file, a folder, a URL, or `-`.
enum PlayArgument {
  /// The URL that stands for a list on standard input.
  static let standardInput = URL(filePath: "/dev/stdin", directoryHint: .notDirectory)

  /// Reads a URL if the text has a scheme, else the path of a file or a folder. `problem(with:)`
  /// checks that it exists.
  static func parse(_ text: String) throws -> URL {
    guard !text.isEmpty else { throw InvalidArgument("the argument is empty") }
    guard text != "-" else { return standardInput }
    guard text.contains("://") else {
      if !FileManager.default.fileExists(atPath: text),
        let suggestion = URLArgument.suggestion(for: text)
      {
        throw InvalidArgument("the file does not exist. Did you mean \(suggestion)?")
      }
      return file(text)
    }
    guard text.lowercased().hasPrefix("file://") else { return try URLArgument.parse(text) }
    guard let url = URL(text: text), url.isFileURL else {
      throw InvalidArgument("the argument is not the URL of a file")
    }
    return file(url.path(percentEncoded: false))
  }

  private static func file(_ path: String) -> URL {
    URL(filePath: path, directoryHint: .notDirectory).standardizedFileURL
  }

  /// Returns why a URL does not name a file; nil for URLs of the web, and if no problem is known.
  static func problem(with url: URL) -> MediaCacheError? {
    guard url.isFileURL else { return nil }
    let path = url.path(percentEncoded: false)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      return MediaCacheError(
        .badURL, "\(path) does not exist.",
        remedy: "Check its name; write a URL in full, as in https://example.org/song.flac.")
    }
    guard !isFolder.boolValue else {
      return MediaCacheError(.badURL, "\(path) is a folder.", remedy: "Name the files in it.")
    }
    return nil
  }
}
