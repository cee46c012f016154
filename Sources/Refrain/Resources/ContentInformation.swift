// SPDX-License-Identifier: MIT
public import Foundation

/// The known properties of a resource besides its bytes.
public struct ContentInformation: Sendable, Hashable {
  /// The length in bytes; nil while unknown (an origin that streams without a length).
  public var length: Int64?
  /// The media type as the origin sent it, lower case and without parameters: `audio/flac`.
  public var mimeType: String?
  /// Whether the origin supports range requests.
  public var supportsRanges: Bool
  /// The strong ETag, else Last-Modified, as in the header; nil if the origin sent neither.
  public var validator: String?
  /// The URL that responded, after redirects.
  public var finalURL: URL

  public init(
    length: Int64?, mimeType: String?, supportsRanges: Bool, validator: String?, finalURL: URL
  ) {
    self.length = length
    self.mimeType = mimeType
    self.supportsRanges = supportsRanges
    self.validator = validator
    self.finalURL = finalURL
  }
}

/// The title of a live stream from a byte on, as its server reports it (Icecast, SHOUTcast).
///
/// Servers send titles when the resource's requests ask for them: `Icy-MetaData: 1` in
/// `Resource.headers`. Readers never see the metadata among the bytes.
public struct StreamTitle: Sendable, Hashable {
  /// The title, often `Artist - Title`; nil if the server sends none.
  public var title: String?
  /// A URL for the title, as sent: a page, a cover, or nothing useful.
  public var url: String?
  public var station: StreamStation
  /// The reader's byte from which the title applies: it becomes audible with that byte.
  public var offset: Int64

  public init(
    title: String? = nil, url: String? = nil, station: StreamStation = StreamStation(),
    offset: Int64 = 0
  ) {
    self.title = title
    self.url = url
    self.station = station
    self.offset = offset
  }
}

/// The sender of a live stream: its `icy-` fields.
public struct StreamStation: Sendable, Hashable {
  /// `icy-name`
  public var name: String?
  /// `icy-genre`
  public var genre: String?
  /// `icy-url`: the station's page, as sent.
  public var url: String?
  /// `icy-br`, in kbit/s.
  public var bitrate: Int?

  public init(
    name: String? = nil, genre: String? = nil, url: String? = nil, bitrate: Int? = nil
  ) {
    self.name = name
    self.genre = genre
    self.url = url
    self.bitrate = bitrate
  }
}
