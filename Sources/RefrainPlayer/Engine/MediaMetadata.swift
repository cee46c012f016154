// SPDX-License-Identifier: MIT
/// The metadata that media carries: ID3, Vorbis comments, the metadata of MP4, and the titles that
/// live streams send.
public struct MediaMetadata: Sendable, Hashable, Codable {
  public var title: String?
  public var artist: String?
  public var album: String?
  /// The title that a live stream sends for what it plays now, often "Artist - Title".
  public var streamTitle: String?
  /// The name of a live stream's station.
  public var station: String?
  /// Whether the media has video; nil if the engine does not know.
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
