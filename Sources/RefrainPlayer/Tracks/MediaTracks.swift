// SPDX-License-Identifier: MIT

/// The tracks of the current item, and those that are selected. A pure value.
public struct MediaTracks: Sendable, Hashable, Codable {
  /// All tracks, in the order of the media.
  public var all: [MediaTrack]
  /// The selected tracks: at most one of each kind.
  public var selected: Set<MediaTrack.ID>

  public init(_ all: [MediaTrack] = [], selected: Set<MediaTrack.ID> = []) {
    self.all = all
    self.selected = selected
  }

  public func tracks(of kind: MediaTrack.Kind) -> [MediaTrack] { all.filter { $0.kind == kind } }

  /// Returns the selected track of a kind; nil: none is.
  public func selected(_ kind: MediaTrack.Kind) -> MediaTrack? {
    all.first { $0.kind == kind && selected.contains($0.id) }
  }

  /// Whether the media has a video that is not a cover.
  public var hasVideo: Bool { all.contains { $0.kind == .video && !$0.isCover } }

  /// Returns the track after the selected one. Subtitles turn off after the last one; sound and
  /// video begin again at the first.
  ///
  /// - Returns: nil to select none of the kind.
  public func next(_ kind: MediaTrack.Kind) -> MediaTrack? {
    let tracks = tracks(of: kind)
    guard let now = tracks.firstIndex(where: { selected.contains($0.id) }) else {
      return tracks.first
    }
    if now + 1 < tracks.count { return tracks[now + 1] }
    return kind == .subtitle ? nil : tracks.first
  }
}
