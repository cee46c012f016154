// SPDX-License-Identifier: MIT
import Foundation
import RefrainPlayer

/// Finds the files that a local CUE sheet means. Often they were converted after the sheet had been
/// written, so that it names `album.wav` where the folder has `album.flac`. Blocks: it reads the
/// folder.
struct CueFiles {
  private let sheet: URL
  private var found: [URL: URL] = [:]
  private var folder: Folder?

  /// The names in a folder, by their lower-case form; of several the first in order.
  private struct Folder {
    var names: [String: String] = [:]
    /// Of media, by the name without its extension.
    var media: [String: String] = [:]
  }

  init(of sheet: URL) { self.sheet = sheet }

  /// Returns the URL of an existing file for that of a missing one: with the same name in other
  /// letters, else with the same name and the extension of other media, else with the name of the
  /// sheet. The same URL if there is none.
  mutating func file(for url: URL) -> URL {
    guard url.isFileURL, sheet.isFileURL else { return url }
    if let known = found[url] { return known }
    let file = search(url)
    found[url] = file
    return file
  }

  private mutating func search(_ url: URL) -> URL {
    guard !FolderListing.isFile(url) else { return url }
    let place = url.deletingLastPathComponent()
    guard place.path == sheet.deletingLastPathComponent().path else { return url }
    let folder = folder ?? Self.read(place)
    self.folder = folder
    let match =
      folder.names[url.lastPathComponent.lowercased()]
      ?? folder.media[Self.stem(of: url.lastPathComponent)]
      ?? folder.media[Self.stem(of: sheet.lastPathComponent)]
    return match.map { place.appending(path: $0, directoryHint: .notDirectory) } ?? url
  }

  private static func stem(of name: String) -> String {
    (name.lowercased() as NSString).deletingPathExtension
  }

  private static func read(_ place: URL) -> Folder {
    var folder = Folder()
    // A folder that cannot be read has no other file: the missing one is reported when it plays.
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: place.path(percentEncoded: false))
    for name in names?.sorted(by: MediaFiles.isInOrder) ?? [] {
      if folder.names[name.lowercased()] == nil { folder.names[name.lowercased()] = name }
      guard MediaFiles.isMedia(name) else { continue }
      let stem = stem(of: name)
      if folder.media[stem] == nil { folder.media[stem] = name }
    }
    return folder
  }
}
