// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

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
    /// Of audio, video and subtitles.
    package var groups: [Group]
    /// Whether this is an I-frame playlist, for trick play.
    package var isIFrames: Bool
    /// The bytes of the tag's line through the URI's line, with line endings.
    package var lines: Range<Int>

    package var audioGroup: String? { groups.first { $0.type == .audio }?.id }
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
    package var channels: String?
    /// Nil if the rendition is part of the variants' own media.
    package var uri: String?
    /// The bytes of the tag's line, with its line ending.
    package var lines: Range<Int>

    package var group: Group { Group(type: type, id: groupID) }
  }

  /// The renditions among which a player selects for a variant (RFC 8216 §4.3.4.1.1).
  package struct Group: Sendable, Hashable {
    package var type: Rendition.MediaType
    package var id: String
  }

  package internal(set) var variants: [Variant] = []
  package private(set) var iFrameVariants: [Variant] = []
  package internal(set) var renditions: [Rendition] = []
  /// The variables for the IMPORT of the media playlists.
  package private(set) var variables: [String: String] = [:]

  /// Nil also if the body is a multivariant playlist that cannot be read completely.
  package init?(_ body: [UInt8], url: URL) {
    guard let playlist = try? Self.read(body, url: url) else { return nil }
    self = playlist
  }

  /// Returns the playlist; nil if the body is no multivariant playlist: it has no
  /// EXT-X-STREAM-INF.
  ///
  /// - Parameter url: the URL of the response, after redirects.
  /// - Throws: `MediaCacheError`, if the playlist cannot be read completely.
  package static func read(_ body: [UInt8], url: URL) throws(MediaCacheError) -> Self? {
    guard var reader = HLSReader(body, url: url) else { return nil }
    var playlist = Self()
    guard playlist.followLines(&reader) else { return nil }
    try reader.checkCompleteness()
    playlist.variables = reader.variables
    return playlist
  }

  private init() {}

  /// - Returns: whether the playlist has EXT-X-STREAM-INF.
  private mutating func followLines(_ reader: inout HLSReader) -> Bool {
    var isMultivariant = false
    // The last EXT-X-STREAM-INF before a URI counts. An earlier one without a URI belongs to its
    // lines: without that variant it would describe the next URI.
    var pending: (value: ArraySlice<UInt8>, start: Int)?
    while let line = reader.next() {
      switch line.content {
      case .tag(.variant, let value):
        isMultivariant = true
        pending = (value, pending?.start ?? line.whole.lowerBound)
      case .uri:
        if let pending, let uri = reader.text(line.text) {
          let lines = pending.start..<line.whole.upperBound
          variants.append(Variant(HLSAttributes(pending.value), uri: uri, lines: lines, &reader))
        }
        pending = nil
      case .tag(.segment, _):
        pending = nil
      case .tag(.iFrameVariant, let value):
        let attributes = HLSAttributes(value)
        if let uri = reader.text(attributes["URI"]) {
          var variant = Variant(attributes, uri: uri, lines: line.whole, &reader)
          variant.isIFrames = true
          iFrameVariants.append(variant)
        }
      case .tag(.rendition, let value):
        if let rendition = Rendition(HLSAttributes(value), lines: line.whole, &reader) {
          renditions.append(rendition)
        }
      case .tag, .comment:
        break
      }
    }
    return isMultivariant
  }
}

extension HLSMultivariantPlaylist.Variant {
  fileprivate init(
    _ attributes: HLSAttributes, uri: String, lines: Range<Int>, _ reader: inout HLSReader
  ) {
    (self.uri, self.lines, isIFrames) = (uri, lines, false)
    bandwidth = attributes["BANDWIDTH"]?.integer ?? 0
    averageBandwidth = attributes["AVERAGE-BANDWIDTH"]?.integer
    let resolution = attributes["RESOLUTION"]?.resolution
    (width, height) = (resolution?.width, resolution?.height)
    codecs = reader.text(attributes["CODECS"])
    frameRate = attributes["FRAME-RATE"]?.decimal
    groups = []
    for type in [HLSMultivariantPlaylist.Rendition.MediaType.audio, .video, .subtitles] {
      guard let id = reader.text(attributes[type.rawValue]) else { continue }
      groups.append(HLSMultivariantPlaylist.Group(type: type, id: id))
    }
  }
}

extension HLSMultivariantPlaylist.Rendition {
  /// Nil if the type is unknown.
  fileprivate init?(_ attributes: HLSAttributes, lines: Range<Int>, _ reader: inout HLSReader) {
    func isSet(_ name: String) -> Bool { attributes[name]?.elementsEqual("YES".utf8) ?? false }
    guard let type = reader.text(attributes["TYPE"]).flatMap(MediaType.init) else { return nil }
    (self.type, self.lines) = (type, lines)
    groupID = reader.text(attributes["GROUP-ID"]) ?? ""
    name = reader.text(attributes["NAME"]) ?? ""
    language = reader.text(attributes["LANGUAGE"])
    isDefault = isSet("DEFAULT")
    // A default rendition is selected automatically too (RFC 8216 §4.3.4.1).
    isAutoselect = isSet("AUTOSELECT") || isDefault
    isForced = isSet("FORCED")
    channels = reader.text(attributes["CHANNELS"])
    uri = reader.text(attributes["URI"])
  }
}

// MARK: Edited

extension HLSMultivariantPlaylist {
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

  /// Returns the body without the attributes of variants that name a group without renditions: a
  /// player could not play such a variant. All other lines stay as they are.
  ///
  /// - Parameter body: the body that this playlist was created from.
  package func removingEmptyGroups(_ body: [UInt8]) -> [UInt8] {
    let groups = Set(renditions.map(\.group))
    var edits = ByteEdits()
    for variant in variants + iFrameVariants {
      let empty = variant.groups.filter { !groups.contains($0) }.map(\.type.rawValue)
      guard !empty.isEmpty else { continue }
      for line in HLSLines(body, in: variant.lines) {
        switch line.content {
        case .tag(.variant, let value), .tag(.iFrameVariant, let value):
          edits.replace(value.indices, with: Self.attributes(value, without: empty))
        default: break
        }
      }
    }
    return edits.applied(to: body)
  }

  private static func attributes(
    _ value: ArraySlice<UInt8>, without names: [String]
  ) -> [UInt8] {
    let kept = HLSAttributes(value).filter { !names.contains(where: $0.isNamed) }
    return Array(
      kept.map { attribute in
        let end = attribute.value.endIndex + (attribute.isQuoted ? 1 : 0)
        return value[attribute.name.startIndex..<end]
      }.joined(separator: [UInt8(ascii: ",")]))
  }
}
