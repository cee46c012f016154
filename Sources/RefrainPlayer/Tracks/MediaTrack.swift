// SPDX-License-Identifier: MIT

/// A track of a media: a video, a sound or a subtitle.
public struct MediaTrack: Sendable, Hashable, Identifiable, Codable {
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case video, audio, subtitle
  }

  /// Identifies a track within one playback of its media.
  public struct ID: Sendable, Hashable, Codable {
    public var kind: Kind
    /// Counts from 1 within the kind.
    public var number: Int

    public init(_ kind: Kind, _ number: Int) {
      self.kind = kind
      self.number = number
    }
  }

  public var id: ID
  /// The title, as the media states it.
  public var title: String?
  /// The language, as the media states it: a code of ISO 639, or a tag of RFC 5646.
  public var language: String?
  /// The name of the codec, as in `h264` or `aac`.
  public var codec: String?
  /// Whether the media marks the track as the one to select.
  public var isDefault: Bool
  /// Whether a subtitle is to be shown also to those who understand the sound: signs and other
  /// languages.
  public var isForced: Bool
  /// Whether the track comes from another resource than the media.
  public var isExternal: Bool
  /// Whether a video track is a still picture, such as the cover of a song.
  public var isCover: Bool

  public init(
    _ id: ID, title: String? = nil, language: String? = nil, codec: String? = nil,
    isDefault: Bool = false, isForced: Bool = false, isExternal: Bool = false,
    isCover: Bool = false
  ) {
    self.id = id
    self.title = title
    self.language = language
    self.codec = codec
    self.isDefault = isDefault
    self.isForced = isForced
    self.isExternal = isExternal
    self.isCover = isCover
  }

  public var kind: Kind { id.kind }
}
