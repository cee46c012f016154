// SPDX-License-Identifier: MIT
import Refrain

extension RecordedPlaylist {
  /// Returns the playlist from a segment on (RFC 8216 §4.3).
  ///
  /// - Parameters:
  ///   - number: the first segment; the first one that there is if that is dropped.
  ///   - isGrowing: whether the playlist is of type EVENT: players can seek in it, and keep what
  ///     they know of it.
  func text(from number: Int64, isGrowing: Bool = true) -> [UInt8] {
    let number = max(firstNumber, min(number, endNumber - 1))
    var text = """
      #EXTM3U
      #EXT-X-VERSION:7
      #EXT-X-TARGETDURATION:\(Int64(min(targetDuration.rounded(.up), 1e9)))
      #EXT-X-MEDIA-SEQUENCE:\(number)

      """
    let passed = segments.prefix(Int(number - firstNumber)).count(where: \.isDiscontinuity)
    if discontinuities + Int64(passed) > 0 {
      text += "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuities + Int64(passed))\n"
    }
    if isGrowing { text += "#EXT-X-PLAYLIST-TYPE:EVENT\n" }
    var (keys, map): ([Key], HLSMediaPlaylist.Map?) = ([], nil)
    for segment in segments.dropFirst(Int(number - firstNumber)) {
      func use(_ needed: [Key]) {
        guard needed != keys else { return }
        text += needed.isEmpty ? "#EXT-X-KEY:METHOD=NONE\n" : needed.map(\.line).joined()
        keys = needed
      }
      // There is no tag that ends an initialization: it belongs to what follows a discontinuity.
      if segment.map != map, let new = segment.map {
        use(segment.mapKeys)
        text += new.line
      }
      map = segment.map
      use(segment.explicitKeys)
      text += segment.lines
    }
    if isEnded { text += "#EXT-X-ENDLIST\n" }
    return Array(text.utf8)
  }
}

extension RecordedPlaylist.Segment {
  /// The keys with their vectors: the numbers of the segments, which take the place of missing
  /// ones, are not the origin's (RFC 8216 §5.2).
  fileprivate var explicitKeys: [RecordedPlaylist.Key] {
    keys.map { key in
      guard key.vector == nil, key.key.keyFormat == "identity", key.key.method != "NONE" else {
        return key
      }
      let digits = String(UInt64(bitPattern: sequence), radix: 16)
      var explicit = key
      explicit.vector = "0x" + String(repeating: "0", count: 32 - digits.count) + digits
      return explicit
    }
  }

  fileprivate var lines: String {
    var text = ""
    if isDiscontinuity { text += "#EXT-X-DISCONTINUITY\n" }
    if isGap { text += "#EXT-X-GAP\n" }
    text += "#EXTINF:\(duration),\n"
    if let byteRange {
      text += "#EXT-X-BYTERANGE:\(byteRange.upperBound - byteRange.lowerBound)"
      text += "@\(byteRange.lowerBound)\n"
    }
    // A variable may have brought what would be a tag.
    return text + (uri.hasPrefix("#") ? "./" : "") + uri + "\n"
  }
}

extension RecordedPlaylist.Key {
  fileprivate var line: String {
    var text = "#EXT-X-KEY:METHOD=\(key.method)"
    if let uri = key.uri { text += ",URI=\"\(uri.quotable)\"" }
    if let vector { text += ",IV=\(vector)" }
    if key.keyFormat != "identity" { text += ",KEYFORMAT=\"\(key.keyFormat.quotable)\"" }
    return text + "\n"
  }
}

extension HLSMediaPlaylist.Map {
  fileprivate var line: String {
    var text = "#EXT-X-MAP:URI=\"\(uri.quotable)\""
    if let byteRange {
      text +=
        ",BYTERANGE=\"\(byteRange.upperBound - byteRange.lowerBound)@\(byteRange.lowerBound)\""
    }
    return text + "\n"
  }
}

extension String {
  /// The text within a quoted string, which has no way to spell a quotation mark (RFC 8216 §4.2):
  /// a variable may have brought one.
  fileprivate var quotable: String { replacing("\"", with: "%22") }
}
