// SPDX-License-Identifier: MIT
public import Foundation

extension Media {
  /// A part of a resource, as a CUE sheet states it for each track of an album in one file.
  public struct Part: Sendable, Hashable {
    /// The position in the resource at which the part begins.
    public var start: Duration
    /// The position in the resource at which the part ends; nil: the end of the resource.
    public var end: Duration?

    public init(start: Duration = .zero, end: Duration? = nil) {
      self.start = start
      self.end = end
    }
  }

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

  /// Returns the position in the resource of a position in the item.
  func resourcePosition(of position: Duration) -> Duration {
    part.map { $0.start + position } ?? position
  }
}

extension Media.Part {
  /// Returns the position in the item of a position in the resource.
  func position(of place: Duration) -> Duration {
    max(.zero, min(place, end ?? place) - start)
  }

  /// Returns the duration of the item in a resource of a duration that may be an estimate; nil: it
  /// is unknown.
  func duration(in resource: Duration) -> Duration? {
    if let end { return max(.zero, end - start) }
    return start < resource ? resource - start : nil
  }

  /// Returns the parts of ranges of the resource that lie within this part, as positions in the
  /// item.
  func positions(of ranges: [Range<Duration>]) -> [Range<Duration>] {
    ranges.compactMap { range in
      let (lower, upper) = (position(of: range.lowerBound), position(of: range.upperBound))
      return lower < upper ? lower..<upper : nil
    }
  }

  /// Returns how much of this part is stored, of a stream of which the progress is that of all.
  func progress(of stream: StreamProgress) -> StreamProgress {
    StreamProgress(
      duration: position(of: stream.duration), cachedRanges: positions(of: stream.cachedRanges),
      fetchingRanges: positions(of: stream.fetchingRanges))
  }
}

// MARK: - Codable

extension Media.Part: Codable {
  private enum CodingKeys: String, CodingKey {
    case start, end
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      start: try container.decodeMediaTime(forKey: .start) ?? .zero,
      end: try container.decodeMediaTime(forKey: .end))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeMediaTime(start, forKey: .start)
    try container.encodeMediaTime(end, forKey: .end)
  }
}

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
