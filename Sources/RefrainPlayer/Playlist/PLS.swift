// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// PLS is Winamp's list of streams, an INI file: `File1`, `Title1`, `Length1` and so on, in any
/// order, in a section `[playlist]`.
extension PlaylistReading {
  private struct Numbered {
    var line = 0
    var file: Substring?
    var title: Substring?
    var length: Substring?
  }

  mutating func readPLS(_ text: String) throws(MediaCacheError) {
    var isInside = false
    var found = false
    var numbered: [Int: Numbered] = [:]
    for (number, line) in PlaylistText.lines(of: text) {
      if line.hasPrefix("[") {
        isInside = line.lowercased().hasPrefix("[playlist]")
        found = found || isInside
        continue
      }
      guard isInside, let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let key = PlaylistText.trimmed(line[..<equals]).lowercased()
      let value = PlaylistText.trimmed(line[equals...].dropFirst())
      if key == "x-gnome-title" { title = PlaylistText.shown(value) }
      guard !value.isEmpty, let (name, index) = nameAndIndex(key) else { continue }
      switch name {
      case "file":
        numbered[index, default: Numbered()].file = value
        numbered[index, default: Numbered()].line = number
      case "title": numbered[index, default: Numbered()].title = value
      case "length": numbered[index, default: Numbered()].length = value
      default: continue
      }
    }
    guard found else {
      throw MediaCacheError(
        .invalidResponse, "The playlist has no section [playlist], which PLS requires.",
        remedy: "Check that the URL is the playlist's.")
    }
    for (_, entry) in numbered.sorted(by: { $0.key < $1.key }) { try add(entry) }
  }

  private mutating func add(_ entry: Numbered) throws(MediaCacheError) {
    guard let file = entry.file else { return }
    let location: URL
    do {
      location = try PlaylistLocation(of: url).resolve(file, as: .pathOrURI)
    } catch {
      return try skip("Line \(entry.line)", error)
    }
    let line = entry.title.flatMap { PlaylistText.shown($0) }
    let (artist, title) = line.map(PlaylistText.artistAndTitle) ?? (nil, nil)
    let seconds = entry.length.flatMap { Double($0) }
    try add(
      Media(
        location, title: title, artist: artist,
        duration: seconds.flatMap { $0 > 0 ? Duration(ofMedia: $0) : nil }))
  }

  /// Splits "file12" into "file" and 12; nil without a number, or if it does not fit.
  private func nameAndIndex(_ key: String) -> (name: String, index: Int)? {
    let digits = key.utf8.reversed().prefix { (0x30...0x39).contains($0) }.count
    guard digits > 0, let index = Int(key.suffix(digits)) else { return nil }
    return (String(key.dropLast(digits)), index)
  }
}

extension Playlist {
  /// The playlist as PLS, which has no albums or pictures, and only whole seconds.
  var pls: String {
    var lines = ["[playlist]"]
    if let title = title.flatMap(PlaylistText.shown) { lines.append("X-GNOME-Title=\(title)") }
    lines.append("NumberOfEntries=\(entries.count)")
    for (index, media) in entries.enumerated() {
      lines.append("File\(index + 1)=\(media.url.absoluteString)")
      if let line = PlaylistText.line(for: media) { lines.append("Title\(index + 1)=\(line)") }
      let milliseconds = media.duration.flatMap(Self.milliseconds)
      let seconds = milliseconds.map { max(1, ($0 + 500) / 1000) } ?? -1
      lines.append("Length\(index + 1)=\(seconds)")
    }
    lines.append("Version=2")
    return lines.joined(separator: "\n") + "\n"
  }
}
