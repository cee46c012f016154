// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

extension Media {
  /// A subtitle of another resource than its media.
  public struct Subtitle: Sendable, Hashable {
    /// The URL of the subtitle. http and https come through the cache, files directly.
    public var url: URL
    /// The fields sent with every request to the URL's own origin (`Resource.headers`); those of
    /// the media are not sent there.
    public var headers: HeaderFields
    /// The title of its track; nil: the one that the file states, else the file's name.
    public var title: String?
    /// The language of its track, a code of ISO 639 or a tag of RFC 5646; nil: the one that the file
    /// states, else the one in the file's name, as in `film.de.srt`.
    public var language: String?

    public init(
      _ url: URL, headers: HeaderFields = [:], title: String? = nil, language: String? = nil
    ) {
      self.url = url
      self.headers = headers
      self.title = title
      self.language = language
    }
  }
}

// MARK: - Codable

/// Encodes the headers, which may contain a token: store the result where secrets may be stored.
extension Media.Subtitle: Codable {
  private enum CodingKeys: String, CodingKey {
    case url, headers, title, language
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(URL.self, forKey: .url),
      headers: try container.decodeHeaders(forKey: .headers),
      title: try container.decodeIfPresent(String.self, forKey: .title),
      language: try container.decodeIfPresent(String.self, forKey: .language))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encodeHeaders(headers, forKey: .headers)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(language, forKey: .language)
  }
}

/// A field of headers as it is stored.
private struct StoredHeader: Codable {
  var name: String
  var value: String
}

extension KeyedDecodingContainer {
  /// Decodes headers; none if the key is missing.
  func decodeHeaders(forKey key: Key) throws -> HeaderFields {
    let stored = try decodeIfPresent([StoredHeader].self, forKey: key) ?? []
    return HeaderFields(stored.map { ($0.name, $0.value) })
  }
}

extension KeyedEncodingContainer {
  /// Encodes headers; nothing if there are none.
  mutating func encodeHeaders(_ headers: HeaderFields, forKey key: Key) throws {
    guard !headers.isEmpty else { return }
    try encode(headers.fields.map { StoredHeader(name: $0.name, value: $0.value) }, forKey: key)
  }
}
