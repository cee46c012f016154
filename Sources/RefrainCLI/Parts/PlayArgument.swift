// SPDX-License-Identifier: MIT
import Foundation

/// What `play` is given: a file, or a URL.
enum PlayArgument {
  /// What has a scheme is a URL; anything else is the path of a file, which has to be there.
  static func parse(_ text: String) throws -> URL {
    guard !text.contains("://") else {
      guard text.lowercased().hasPrefix("file://") else { return try URLArgument.parse(text) }
      guard let url = URL(string: text), url.isFileURL else {
        throw InvalidArgument("it is no URL of a file")
      }
      return try file(url.path(percentEncoded: false))
    }
    return try file(text)
  }

  private static func file(_ path: String) throws -> URL {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw InvalidArgument(
        "there is no such file; a URL is written whole, as in https://example.org/song.flac")
    }
    guard !isFolder.boolValue else {
      throw InvalidArgument("it is a folder; name the files in it")
    }
    return URL(filePath: path, directoryHint: .notDirectory).standardizedFileURL
  }
}
