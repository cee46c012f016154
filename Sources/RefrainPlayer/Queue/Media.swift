// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

/// One media to play, and the metadata known before it plays.
public struct Media: Sendable, Hashable {
  /// The URL of the media. http and https play through the cache, files directly.
  public var url: URL
  /// The fields sent with every request to the URL's own origin (`Resource.headers`).
  public var headers: HeaderFields
  /// The key under which the bytes are stored; nil: `MediaCache.Configuration.cacheKey` derives it
  /// from the URL.
  public var key: CacheKey?
  /// The title, as a playlist or the app states it; the media's own metadata is in
  /// `Player.metadata`.
  public var title: String?
  public var artist: String?
  public var album: String?
  public var artwork: URL?
  /// The duration that a playlist states, until the media's own is known.
  public var duration: Duration?

  public init(
    _ url: URL, headers: HeaderFields = [:], key: CacheKey? = nil, title: String? = nil,
    artist: String? = nil, album: String? = nil, artwork: URL? = nil, duration: Duration? = nil
  ) {
    self.url = url
    self.headers = headers
    self.key = key
    self.title = title
    self.artist = artist
    self.album = album
    self.artwork = artwork
    self.duration = duration
  }

  /// The resource that the cache stores; nil for a file.
  public var resource: Resource? {
    url.isFileURL ? nil : Resource(url: url, headers: headers, key: key)
  }
}

/// Encodes the headers, which may contain a token: store the result where secrets may be stored.
extension Media: Codable {
  private enum CodingKeys: String, CodingKey {
    case url, headers, key, title, artist, album, artwork, duration
  }

  private struct Header: Codable {
    var name: String
    var value: String
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let headers = try container.decodeIfPresent([Header].self, forKey: .headers) ?? []
    let seconds = try container.decodeIfPresent(Double.self, forKey: .duration)
    let duration = seconds.flatMap { Duration(ofMedia: $0) }
    if let seconds, duration == nil {
      throw DecodingError.dataCorruptedError(
        forKey: .duration, in: container,
        debugDescription: "\(seconds) is not a valid duration in seconds.")
    }
    self.init(
      try container.decode(URL.self, forKey: .url),
      headers: HeaderFields(headers.map { ($0.name, $0.value) }),
      key: try container.decodeIfPresent(CacheKey.self, forKey: .key),
      title: try container.decodeIfPresent(String.self, forKey: .title),
      artist: try container.decodeIfPresent(String.self, forKey: .artist),
      album: try container.decodeIfPresent(String.self, forKey: .album),
      artwork: try container.decodeIfPresent(URL.self, forKey: .artwork),
      duration: duration)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    if !headers.isEmpty {
      try container.encode(
        headers.fields.map { Header(name: $0.name, value: $0.value) }, forKey: .headers)
    }
    try container.encodeIfPresent(key, forKey: .key)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(artist, forKey: .artist)
    try container.encodeIfPresent(album, forKey: .album)
    try container.encodeIfPresent(artwork, forKey: .artwork)
    if let seconds = duration?.inSeconds, Duration(ofMedia: seconds) != nil {
      try container.encode(seconds, forKey: .duration)
    }
  }
}
