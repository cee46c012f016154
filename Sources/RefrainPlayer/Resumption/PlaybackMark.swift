// SPDX-License-Identifier: MIT
public import Foundation

/// Where a listener left a media, and what was selected in it.
public struct PlaybackMark: Sendable, Hashable {
  public var position: Duration
  /// The duration of the media.
  public var duration: Duration
  /// The volume, if the listener set it for this media; nil: the player's stays.
  public var volume: Double?
  /// The sound track that the listener selected; nil: none was selected.
  public var audio: TrackChoice?
  /// The subtitle that the listener selected, or `.off`; nil: none was selected.
  public var subtitle: TrackChoice?
  /// When it was left.
  public var date: Date

  public init(
    position: Duration, duration: Duration, volume: Double? = nil, audio: TrackChoice? = nil,
    subtitle: TrackChoice? = nil, date: Date = Date()
  ) {
    self.position = position
    self.duration = duration
    self.volume = volume
    self.audio = audio
    self.subtitle = subtitle
    self.date = date
  }
}

/// A track that a listener selected, as it is found again when the media plays another time.
public enum TrackChoice: Sendable, Hashable {
  /// None of the kind.
  case off
  /// The track with this number, or else the first one in this language.
  case track(number: Int, language: String?)

  /// Creates the choice of a track; nil: none of the kind.
  public init(_ track: MediaTrack?) {
    self = track.map { .track(number: $0.id.number, language: $0.language) } ?? .off
  }

  /// Returns the chosen track among those of its kind; nil for `.off`, and if the media has no such
  /// track any more.
  public func track(among tracks: [MediaTrack]) -> MediaTrack? {
    guard case .track(let number, let language) = self else { return nil }
    return tracks.first { $0.id.number == number && $0.language == language }
      ?? tracks.first { language != nil && $0.language == language }
  }
}

// MARK: - Codable

extension PlaybackMark: Codable {
  private enum CodingKeys: String, CodingKey {
    case position, duration, volume, audio, subtitle, date
  }

  /// - Throws: `DecodingError`, also for a position or a volume that cannot be.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func time(_ key: CodingKeys) throws -> Duration {
      guard let time = try container.decodeMediaTime(forKey: key) else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container, debugDescription: "The time is missing.")
      }
      return time
    }
    let volume = try container.decodeIfPresent(Double.self, forKey: .volume)
    if let volume, !(0...1).contains(volume) {
      throw DecodingError.dataCorruptedError(
        forKey: .volume, in: container, debugDescription: "\(volume) is not a volume.")
    }
    self.init(
      position: try time(.position), duration: try time(.duration), volume: volume,
      audio: try container.decodeIfPresent(TrackChoice.self, forKey: .audio),
      subtitle: try container.decodeIfPresent(TrackChoice.self, forKey: .subtitle),
      date: Date(
        timeIntervalSince1970: try container.decodeIfPresent(Double.self, forKey: .date) ?? 0))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeMediaTime(position, forKey: .position)
    try container.encodeMediaTime(duration, forKey: .duration)
    try container.encodeIfPresent(volume, forKey: .volume)
    try container.encodeIfPresent(audio, forKey: .audio)
    try container.encodeIfPresent(subtitle, forKey: .subtitle)
    try container.encode(date.timeIntervalSince1970, forKey: .date)
  }
}

extension TrackChoice: Codable {
  private enum CodingKeys: String, CodingKey {
    case number, language
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    guard let number = try container.decodeIfPresent(Int.self, forKey: .number) else {
      self = .off
      return
    }
    self = .track(
      number: number, language: try container.decodeIfPresent(String.self, forKey: .language))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    guard case .track(let number, let language) = self else { return }
    try container.encode(number, forKey: .number)
    try container.encodeIfPresent(language, forKey: .language)
  }
}
