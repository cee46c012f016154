// SPDX-License-Identifier: MIT
package import Foundation

/// A multivariant playlist: the variants and renditions among which a player selects
/// (RFC 8216 §4.3.4). References are neither resolved nor checked.
package struct HLSMultivariantPlaylist: Sendable {
  package struct Variant: Sendable, Hashable {
    package var uri: String
    /// The peak in bits per second; 0 if the playlist does not state it.
    package var bandwidth: Int64
    package var averageBandwidth: Int64?
    package var width: Int?
    package var height: Int?
    package var codecs: String?
    package var frameRate: Double?
    package var audioGroup: String?
    package var videoGroup: String?
    package var subtitlesGroup: String?
    package var closedCaptionsGroup: String?
    package var name: String?
    /// Whether this is an I-frame playlist, for trick play.
    package var isIFrames: Bool
    /// The bytes of the tag's line through the URI's line, with line endings.
    package var lines: Range<Int>
  }

  package struct Rendition: Sendable, Hashable {
    package enum MediaType: String, Sendable {
      case audio = "AUDIO"
      case video = "VIDEO"
      case subtitles = "SUBTITLES"
      case closedCaptions = "CLOSED-CAPTIONS"
    }

    package var type: MediaType
    package var groupID: String
    package var name: String
    package var language: String?
    package var isDefault: Bool
    package var isAutoselect: Bool
    package var isForced: Bool
    package var characteristics: String?
    package var channels: String?
    /// Nil if the rendition is part of the variants' own media.
    package var uri: String?
    /// The bytes of the tag's line, with its line ending.
    package var lines: Range<Int>
  }

  package internal(set) var variants: [Variant] = []
  package private(set) var iFrameVariants: [Variant] = []
  package internal(set) var renditions: [Rendition] = []
  package private(set) var sessionKeys: [HLSKey] = []
  /// The variables for the IMPORT of the media playlists.
  package private(set) var variables: [String: String] = [:]

  /// Nil also if the body is a multivariant playlist that cannot be read completely
  /// (`HLSProblem`).
  package init?(_ body: [UInt8], url: URL) {
    guard let playlist = try? Self.read(body, url: url) else { return nil }
    self = playlist
  }

  /// Returns the playlist; nil if the body is no multivariant playlist: it has no
  /// EXT-X-STREAM-INF.
  ///
  /// - Parameter url: the URL of the response, after redirects.
  package static func read(_ body: [UInt8], url: URL) throws(HLSProblem) -> Self? {
    guard var reader = HLSReader(body, url: url) else { return nil }
    var playlist = Self()
    guard playlist.follow(&reader) else { return nil }
    guard !reader.isIncomplete else { throw .isTooLong }
    playlist.variables = reader.variables.values
    return playlist
  }

  private init() {}

  /// - Returns: whether the playlist has EXT-X-STREAM-INF.
  private mutating func follow(_ reader: inout HLSReader) -> Bool {
    var isMultivariant = false
    // The last EXT-X-STREAM-INF before a URI counts. An earlier one without a URI belongs to its
    // lines: without that variant it would describe the next URI.
    var pending: (value: Range<Int>, start: Int)?
    while let line = reader.next() {
      switch line.content {
      case .tag(.variant, let value):
        isMultivariant = true
        pending = (value, pending?.start ?? line.whole.lowerBound)
      case .uri:
        if let pending, let uri = reader.text(line.text) {
          let lines = pending.start..<line.whole.upperBound
          variants.append(Variant(pending.value, uri: uri, lines: lines, &reader))
        }
        pending = nil
      case .tag(.segment, _):
        pending = nil
      case .tag(.iFrameVariant, let value):
        if let uri = reader.text("URI", in: reader.attributes(value)) {
          var variant = Variant(value, uri: uri, lines: line.whole, &reader)
          variant.isIFrames = true
          iFrameVariants.append(variant)
        }
      case .tag(.rendition, let value):
        if let rendition = Rendition(value, lines: line.whole, &reader) {
          renditions.append(rendition)
        }
      case .tag(.sessionKey, let value):
        sessionKeys.append(reader.key(reader.attributes(value)))
      case .tag, .comment:
        break
      }
    }
    return isMultivariant
  }

  /// Returns the body without the variants and renditions for which the closures return false. All
  /// other lines stay as they are, also tags that stand between the two lines of a variant.
  ///
  /// A player expects at least one rendition in each group that a remaining variant names.
  ///
  /// - Parameters:
  ///   - body: the body that this playlist was created from.
  ///   - variant: called with each variant and each I-frame variant.
  ///   - rendition: called with each rendition.
  package func filtered(
    _ body: [UInt8], keepingVariant variant: (Variant) -> Bool,
    keepingRendition rendition: (Rendition) -> Bool
  ) -> [UInt8] {
    var edits = ByteEdits()
    for excluded in variants where !variant(excluded) {
      for line in HLSLines(body, in: excluded.lines) {
        switch line.content {
        case .uri, .comment, .tag(.variant, _): edits.replace(line.whole, with: [])
        case .tag: break
        }
      }
    }
    for excluded in iFrameVariants where !variant(excluded) {
      edits.replace(excluded.lines, with: [])
    }
    for excluded in renditions where !rendition(excluded) {
      edits.replace(excluded.lines, with: [])
    }
    return edits.applied(to: body)
  }
}

extension HLSMultivariantPlaylist.Variant {
  fileprivate init(
    _ value: Range<Int>, uri: String, lines: Range<Int>, _ reader: inout HLSReader
  ) {
    let list = reader.attributes(value)
    self.uri = uri
    self.lines = lines
    isIFrames = false
    bandwidth = reader.bytes("BANDWIDTH", in: list).flatMap(HLSNumbers.integer) ?? 0
    averageBandwidth = reader.bytes("AVERAGE-BANDWIDTH", in: list).flatMap(HLSNumbers.integer)
    let resolution = reader.bytes("RESOLUTION", in: list).flatMap(HLSNumbers.resolution)
    width = resolution?.width
    height = resolution?.height
    codecs = reader.text("CODECS", in: list)
    frameRate = reader.bytes("FRAME-RATE", in: list).flatMap(HLSNumbers.decimal)
    audioGroup = reader.text("AUDIO", in: list)
    videoGroup = reader.text("VIDEO", in: list)
    subtitlesGroup = reader.text("SUBTITLES", in: list)
    // NONE without quotes states that no variant has closed captions.
    if let captions = list.first("CLOSED-CAPTIONS"), captions.isQuoted {
      closedCaptionsGroup = reader.text(captions.value)
    }
    name = reader.text("NAME", in: list)
  }
}

extension HLSMultivariantPlaylist.Rendition {
  /// Nil if the type is unknown.
  fileprivate init?(_ value: Range<Int>, lines: Range<Int>, _ reader: inout HLSReader) {
    let list = reader.attributes(value)
    guard let type = reader.text("TYPE", in: list).flatMap(MediaType.init) else { return nil }
    self.type = type
    self.lines = lines
    groupID = reader.text("GROUP-ID", in: list) ?? ""
    name = reader.text("NAME", in: list) ?? ""
    language = reader.text("LANGUAGE", in: list)
    isDefault = reader.flag("DEFAULT", in: list)
    // A default rendition is selected automatically too (RFC 8216 §4.3.4.1).
    isAutoselect = reader.flag("AUTOSELECT", in: list) || isDefault
    isForced = reader.flag("FORCED", in: list)
    characteristics = reader.text("CHARACTERISTICS", in: list)
    channels = reader.text("CHANNELS", in: list)
    uri = reader.text("URI", in: list)
  }
}
