// SPDX-License-Identifier: MIT
import RefrainPlayer

/// The tracks and the video of the current item, as the screen shows them. A pure value.
struct ShownTracks: Sendable, Hashable {
  /// One of the tracks of a kind.
  struct Choice: Sendable, Hashable {
    /// Nil: none is selected.
    var name: String?
    var number = 0
    var count: Int
  }

  /// The size of the shown video; nil if none is shown.
  var size: String?
  var codec: String?
  var isHidden = false
  var droppedFrames = 0
  /// Nil if there is no choice.
  var sound: Choice?
  var subtitle: Choice?

  init() {}

  init(_ state: PlayerState) {
    if let video = state.video {
      size = "\(video.width)\u{D7}\(video.height)"
      codec = [video.codec, video.hardwareDecoder.map { "(\($0))" }].compactMap(\.self)
        .joined(separator: " ")
      droppedFrames = video.droppedFrames
    }
    isHidden = state.tracks.hasVideo && state.video == nil && !state.showsVideo
    sound = Self.choice(.audio, of: state.tracks, least: 2)
    subtitle = Self.choice(.subtitle, of: state.tracks, least: 1)
  }

  /// Whether there is nothing to show.
  var isEmpty: Bool { self == ShownTracks() }

  private static func choice(
    _ kind: MediaTrack.Kind, of tracks: MediaTracks, least: Int
  ) -> Choice? {
    let all = tracks.tracks(of: kind)
    guard all.count >= least else { return nil }
    guard let track = tracks.selected(kind) else { return Choice(count: all.count) }
    return Choice(
      name: track.shownName, number: (all.firstIndex(of: track) ?? 0) + 1, count: all.count)
  }
}

extension MediaTrack {
  /// The language, else the title, else the number.
  var shownName: String {
    [language, title].compactMap(\.self).first { !$0.isEmpty } ?? "\(id.number)"
  }
}
