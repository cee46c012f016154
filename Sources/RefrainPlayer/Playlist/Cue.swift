// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A CUE sheet lists the tracks of an album as parts of one file, or of a file each. A track begins
/// at its `INDEX 01`, and ends where the next one of the same file begins: the pause before a track
/// (`INDEX 00`) belongs to the track before it, so that an album has no gaps.
extension PlaylistReading {
  private struct CueTrack {
    var line: Int
    /// "Track 3"
    var name: String
    var isAudio: Bool
    var title: String?
    var performer: String?
    /// The file in which the track begins, and its place there.
    var file: Int?
    var start: Duration?
    /// Whether `start` is that of `INDEX 01`.
    var hasFirstIndex = false
    var hasInvalidIndex = false
  }

  private struct CueFile {
    var name: Substring
    var type: String
  }

  mutating func readCue(_ text: String) throws(MediaCacheError) {
    var files: [CueFile] = []
    var tracks: [CueTrack] = []
    var performer: String?
    for (number, line) in PlaylistText.lines(of: text) {
      switch CueLine(line) {
      case .file(let name, let type): files.append(CueFile(name: name, type: type))
      case .track(let track, let type):
        guard tracks.count < Playlist.entryLimit else { throw Self.tooMany }
        tracks.append(
          CueTrack(
            line: number, name: "Track \(track ?? tracks.count + 1)", isAudio: type == "AUDIO"))
      case .index(let index, let start): note(index, start, files.indices.last, &tracks)
      case .title(let value):
        let shown = PlaylistText.shown(value)
        if tracks.isEmpty { title = title ?? shown } else { tracks[tracks.count - 1].title = shown }
      case .performer(let value):
        let shown = PlaylistText.shown(value)
        if tracks.isEmpty {
          performer = performer ?? shown
        } else {
          tracks[tracks.count - 1].performer = shown
        }
      case .other, nil: continue
      }
    }
    guard !files.isEmpty, !tracks.isEmpty else {
      throw MediaCacheError(
        .invalidResponse, "The file has no track of a file, which a CUE sheet requires.",
        remedy: "Check that the URL is the sheet's.")
    }
    let ends = Self.ends(of: tracks)
    for (track, end) in zip(tracks, ends) { try add(track, endingAt: end, files, performer) }
  }

  /// Returns where each track ends: where the next one begins that states its place, also if that
  /// one cannot be played itself. Nil: at the end of its file.
  private static func ends(of tracks: [CueTrack]) -> [Duration?] {
    var next: (file: Int, start: Duration)?
    return tracks.reversed().map { track in
      defer {
        if let file = track.file, let start = track.start { next = (file, start) }
      }
      return next.flatMap { $0.file == track.file ? $0.start : nil }
    }.reversed()
  }

  /// Records an index of the last track, which begins at its `INDEX 01`, or at its first index if
  /// it has no other.
  private func note(
    _ index: Int?, _ start: Duration?, _ file: Int?, _ tracks: inout [CueTrack]
  ) {
    guard let last = tracks.indices.last, let file, !tracks[last].hasFirstIndex else { return }
    guard let start, let index else {
      tracks[last].hasInvalidIndex = true
      return
    }
    guard index == 1 || tracks[last].start == nil else { return }
    (tracks[last].file, tracks[last].start) = (file, start)
    tracks[last].hasFirstIndex = index == 1
  }

  private mutating func add(
    _ track: CueTrack, endingAt end: Duration?, _ files: [CueFile], _ performer: String?
  ) throws(MediaCacheError) {
    guard let index = track.file, let start = track.start else {
      return try skip(
        track, track.hasInvalidIndex ? "has an index that is not valid." : "has no index.")
    }
    let file = files[index]
    guard track.isAudio else { return try skip(track, "is not sound.") }
    guard file.type != "BINARY", file.type != "MOTOROLA" else {
      return try skip(track, "is in an image of a disc, which is not media.")
    }
    guard end.map({ $0 > start }) ?? true else {
      return try skip(track, "ends before it begins.")
    }
    let location: URL
    do {
      location = try PlaylistLocation(of: url).resolve(file.name, as: .path)
    } catch {
      return try skip("Line \(track.line)", error)
    }
    let isWhole = start == .zero && end == nil
    try add(
      Media(
        location, title: track.title ?? track.name, artist: track.performer ?? performer,
        album: title, duration: end.map { $0 - start },
        part: isWhole ? nil : Media.Part(start: start, end: end)))
  }

  private mutating func skip(_ track: CueTrack, _ why: String) throws(MediaCacheError) {
    try skip("Line \(track.line)", PlaylistLocation.Refusal("\(track.name) \(why)"))
  }
}
