// SPDX-License-Identifier: MIT
public import Foundation

extension Media {
  /// A chapter, as a podcast feed states it.
  public struct Chapter: Sendable, Hashable {
    /// The position in the item at which the chapter begins.
    public var start: Duration
    public var title: String?
    /// A page about the chapter.
    public var link: URL?
    public var artwork: URL?

    public init(start: Duration, title: String? = nil, link: URL? = nil, artwork: URL? = nil) {
      self.start = start
      self.title = title
      self.link = link
      self.artwork = artwork
    }
  }
}

// MARK: - Codable

extension Media.Chapter: Codable {
  private enum CodingKeys: String, CodingKey {
    case start, title, link, artwork
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      start: try container.decodeMediaTime(forKey: .start) ?? .zero,
      title: try container.decodeIfPresent(String.self, forKey: .title),
      link: try container.decodeIfPresent(URL.self, forKey: .link),
      artwork: try container.decodeIfPresent(URL.self, forKey: .artwork))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeMediaTime(start, forKey: .start)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(link, forKey: .link)
    try container.encodeIfPresent(artwork, forKey: .artwork)
  }
}

extension KeyedDecodingContainer {
  /// Decodes seconds; nil if there are none.
  ///
  /// - Throws: `DecodingError` for a number that no media lasts.
  func decodeMediaTime(forKey key: Key) throws -> Duration? {
    guard let seconds = try decodeIfPresent(Double.self, forKey: key) else { return nil }
    guard let duration = Duration(ofMedia: seconds) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self,
        debugDescription: "\(seconds) is not a valid duration in seconds.")
    }
    return duration
  }
}

extension KeyedEncodingContainer {
  /// Encodes seconds; nothing for a duration that no media has.
  mutating func encodeMediaTime(_ duration: Duration?, forKey key: Key) throws {
    guard let seconds = duration?.inSeconds, Duration(ofMedia: seconds) != nil else { return }
    try encode(seconds, forKey: key)
  }
}
