// SPDX-License-Identifier: MIT

/// Follows the tags of a media playlist, which apply to the next segment or to all later ones.
struct HLSMediaPlaylistParser {
  private var reader: HLSReader
  private var playlist: HLSMediaPlaylist

  // What the tags since the last segment state about the next one.
  private var duration: Double?
  private var byteRange: ArraySlice<UInt8>?
  private var isGap = false

  // What applies until another tag changes it.
  private var bitRate: Int64?
  private var activeKeys: [Int] = []
  private var map: Int?

  private var sequence: Int64 = 0
  private var target: Double?
  private var isHLS = false
  private var longestSegment = 0.0
  private var keyIndices: [HLSKey: Int] = [:]
  private var mapIndices: [HLSMediaPlaylist.Map: Int] = [:]

  /// The formats of keys that may apply at once. Real streams have one for each system of content
  /// protection.
  private static let mostActiveKeys = 16

  init(_ reader: HLSReader, into playlist: HLSMediaPlaylist) {
    self.reader = reader
    self.playlist = playlist
  }

  /// Returns the playlist; nil if the body is no media playlist.
  ///
  /// - Throws: `HLSProblem`, if the playlist would lack references.
  mutating func parsed() throws(HLSProblem) -> HLSMediaPlaylist? {
    while let line = reader.next() {
      switch line.content {
      case .uri: appendSegment(line.text)
      case .tag(.variant, _): return nil
      case .tag(let tag, let value): follow(tag, value)
      case .comment: break
      }
    }
    guard isHLS else { return nil }
    guard !reader.isIncomplete else { throw .isTooLong }
    playlist.targetDuration = target ?? longestSegment
    return playlist
  }

  private mutating func follow(_ tag: HLSTag, _ value: Range<Int>) {
    let text = reader.body[value]
    let attributes = reader.attributes(value)
    switch tag {
    case .segment:
      duration = HLSNumbers.seconds(text) ?? 0
      return
    case .bitRate: bitRate = HLSNumbers.integer(text).flatMap(Self.bitRate)
    case .byteRange: byteRange = text
    case .discontinuity, .discontinuitySequence: break
    case .gap: isGap = true
    case .key: follow(reader.key(attributes))
    case .map: followMap(attributes)
    case .mediaSequence:
      if playlist.segments.isEmpty, let first = HLSNumbers.integer(text) {
        playlist.mediaSequence = first
        sequence = first
      }
    case .skip:
      let skipped = reader.bytes("SKIPPED-SEGMENTS", in: attributes).flatMap(HLSNumbers.integer)
      playlist.skippedSegments = playlist.skippedSegments.addingSaturated(skipped ?? 0)
      sequence = sequence.addingSaturated(skipped ?? 0)
    case .targetDuration: target = HLSNumbers.seconds(text) ?? target
    case .partInformation:
      let target = reader.bytes("PART-TARGET", in: attributes).flatMap(HLSNumbers.seconds)
      playlist.partTarget = target ?? playlist.partTarget
    case .part: playlist.hasParts = true
    case .playlistType:
      let type = String(decoding: text.prefix(8), as: UTF8.self)
      playlist.type = HLSMediaPlaylist.PlaylistType(rawValue: type) ?? playlist.type
    case .end: playlist.isEnded = true
    default: return
    }
    isHLS = true
  }

  /// A URI without EXTINF is no segment.
  private mutating func appendSegment(_ text: Range<Int>) {
    defer {
      (duration, byteRange, isGap) = (nil, nil, false)
    }
    guard let duration else { return }
    let number = sequence
    sequence = sequence.addingSaturated(1)
    guard let uri = reader.text(text) else { return }
    let range = byteRange.flatMap {
      HLSNumbers.byteRange($0, continuingAt: endOfPreviousRange(of: uri))
    }
    longestSegment = max(longestSegment, duration)
    playlist.totalDuration += duration
    playlist.segments.append(
      HLSMediaPlaylist.Segment(
        uri: uri, duration: duration, byteRange: range, bitRate: range == nil ? bitRate : nil,
        isGap: isGap, keys: activeKeys, map: map, sequence: number))
  }

  /// Returns the bits per second of a number of kilobits; nil if there are none.
  private static func bitRate(_ kilobits: Int64) -> Int64? {
    kilobits > 0 ? min(kilobits, .max / 1000) * 1000 : nil
  }

  /// Returns where a byte range without an offset begins (RFC 8216 §4.3.2.2).
  private func endOfPreviousRange(of uri: String) -> Int64 {
    guard let previous = playlist.segments.last, previous.uri == uri else { return 0 }
    return previous.byteRange?.upperBound ?? 0
  }

  /// A key replaces the one of the same format; `NONE` ends all.
  private mutating func follow(_ key: HLSKey) {
    guard key.method != "NONE" else {
      activeKeys = []
      return
    }
    activeKeys.removeAll { playlist.keys[$0].keyFormat == key.keyFormat }
    if activeKeys.count == Self.mostActiveKeys { activeKeys.removeFirst() }
    let index = keyIndices[key] ?? playlist.keys.count
    if index == playlist.keys.count {
      playlist.keys.append(key)
      keyIndices[key] = index
    }
    activeKeys.append(index)
  }

  private mutating func followMap(_ attributes: HLSAttributes) {
    guard let uri = reader.text("URI", in: attributes) else {
      map = nil
      return
    }
    let range = reader.bytes("BYTERANGE", in: attributes).flatMap {
      HLSNumbers.byteRange($0, continuingAt: 0)
    }
    let new = HLSMediaPlaylist.Map(uri: uri, byteRange: range)
    let index = mapIndices[new] ?? playlist.maps.count
    if index == playlist.maps.count {
      playlist.maps.append(new)
      mapIndices[new] = index
    }
    map = index
  }
}
