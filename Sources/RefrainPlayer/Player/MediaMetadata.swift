// SPDX-License-Identifier: MIT
/// What media says of itself: ID3, Vorbis comments, the metadata of MP4; the titles that live streams
/// send along.
public struct MediaMetadata: Sendable, Hashable, Codable {
  public var title: String?
  public var artist: String?
  public var album: String?
  /// What a live stream says that it plays now, often "Artist - Title".
  public var streamTitle: String?
  /// The name of a live stream's station.
  public var station: String?
  /// Whether moving pictures belong to it; nil where the engine does not know.
  public var isVideo: Bool?

  public init(
    title: String? = nil, artist: String? = nil, album: String? = nil, streamTitle: String? = nil,
    station: String? = nil, isVideo: Bool? = nil
  ) {
    self.title = title
    self.artist = artist
    self.album = album
    self.streamTitle = streamTitle
    self.station = station
    self.isVideo = isVideo
  }
}
