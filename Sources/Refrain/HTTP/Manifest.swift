// SPDX-License-Identifier: MIT
package import Foundation

/// How soon an origin may change a resource, by its own bytes: the manifest of an ongoing stream
/// changes every few seconds. Stored with the freshness of its response.
package enum UpdatePace: Codable, Sendable, Hashable {
  /// A manifest whose bytes have not all arrived: at any moment. While they arrive, another request
  /// would bring no newer ones.
  case unread
  /// The resource is complete, and does not change any more.
  case complete
  /// The resource does not say.
  case unstated
  /// Every so many seconds.
  case every(Double)

  /// The longest use without asking the origin, in seconds: half of the time between two changes
  /// (RFC 8216 §6.3.4).
  var longestUse: Double {
    switch self {
    case .unread: Self.arrival
    case .complete, .unstated: .infinity
    case .every(let seconds): seconds / 2
    }
  }

  /// How long the bytes of a manifest take to arrive, in seconds.
  private static let arrival = 0.5

  /// The greatest useful age while the origin is unavailable, in seconds. A player that receives an
  /// older manifest assumes that the stream has ended.
  var longestUnconfirmedUse: Double {
    if case .every(let seconds) = self { return 1.5 * seconds }
    return .infinity
  }

  /// Whether the pace replaces a guessed lifetime.
  var isKnownToChange: Bool {
    switch self {
    case .unread, .every: true
    case .complete, .unstated: false
    }
  }

  /// Whether the origin changes the resource by itself, so that its URL never names fixed bytes.
  package var isLive: Bool {
    if case .every = self { return true }
    return false
  }
}

/// Manifests of streams: HLS playlists (RFC 8216), DASH's MPDs and their patches (ISO/IEC 23009-1).
package enum Manifest {
  /// The longest possible manifest. Longer resources are not parsed.
  package static let longest: Int64 = 4 << 20

  private static let types: Set<String> = [
    "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl",
    "application/dash+xml", "application/dash-patch+xml",
  ]

  /// Whether a resource is named a manifest, by its type or by the extension of its URL.
  package static func isNamed(mimeType: String?, url: URL) -> Bool {
    if let mimeType, types.contains(mimeType) { return true }
    return ["m3u8", "mpd", "mpp"].contains(url.pathExtension.lowercased())
  }

  /// Whether a URL asks for a playlist that the origin has yet to write: the response comes once the
  /// named segment exists (draft-pantos-hls-rfc8216bis §6.2.5.2).
  static func isBlockingReload(_ url: URL) -> Bool {
    url.query()?.split(separator: "&").contains { $0.hasPrefix("_HLS_msn=") } == true
  }

  /// Returns the pace of changes that a whole body states; nil if it is no manifest.
  ///
  /// - Parameter isBlockingReload: whether the request named the segment or part that the playlist
  ///   ends with. The next part has another URL, so that parts do not make the playlist change.
  static func pace(of body: Data, isBlockingReload: Bool = false) -> UpdatePace? {
    let text = String(decoding: body, as: UTF8.self)
    // A byte order mark may come first.
    let start = text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]
    if start.hasPrefix("#EXTM3U") { return playlistPace(start, hasParts: !isBlockingReload) }
    return descriptionPace(start)
  }

  /// Playlists, XML, MPDs, their patches, and the parts of MPDs that are documents of their own.
  private static let beginnings = [
    "#EXTM3U", "<?xml", "<MPD", "<Patch", "<Period", "<AdaptationSet",
  ]

  /// Whether a body may be that of a manifest, by its first bytes.
  package static func mayBegin(with bytes: Data) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    let start = (text.hasPrefix("\u{FEFF}") ? text.dropFirst() : text[...]).drop(
      while: \.isWhitespace)
    return beginnings.contains { start.hasPrefix($0) }
  }

  // MARK: HLS

  private static func playlistPace(_ text: Substring, hasParts: Bool) -> UpdatePace {
    var target: Double?
    for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("#EXT-X-") {
      if line == "#EXT-X-ENDLIST" || line == "#EXT-X-PLAYLIST-TYPE:VOD" { return .complete }
      if let value = value(of: "#EXT-X-TARGETDURATION:", in: line).flatMap(seconds) {
        target = min(target ?? value, value)
      }
      // In a low-latency stream every part makes a new playlist.
      if hasParts, let list = value(of: "#EXT-X-PART-INF:", in: line),
        let part = attribute("PART-TARGET", in: list).flatMap(seconds)
      {
        target = min(target ?? part, part)
      }
    }
    // A list of streams or of songs has no target duration.
    return target.map { .every($0) } ?? .unstated
  }

  private static func value(of tag: String, in line: Substring) -> Substring? {
    line.hasPrefix(tag) ? line.dropFirst(tag.count) : nil
  }

  private static func attribute(_ name: String, in list: Substring) -> Substring? {
    for pair in list.split(separator: ",") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      if parts.count == 2, parts[0].trimmingOWS == name { return parts[1] }
    }
    return nil
  }

  private static func seconds(_ text: Substring) -> Double? {
    guard let value = Double(text.trimmingOWS), value.isFinite, value >= 0 else { return nil }
    return min(value, Double(CacheControl.longest))
  }

  // MARK: DASH

  /// Returns the pace by the attributes of the first MPD element. This needs no full parser: a
  /// `<MPD` in a comment before it could at worst cause more requests.
  private static func descriptionPace(_ text: Substring) -> UpdatePace? {
    guard let start = text.prefix(4096).firstRange(of: "<MPD")?.upperBound,
      let first = text[start...].first, first.isWhitespace || first == ">",
      let end = text[start...].firstIndex(of: ">")
    else { return nil }
    let element = text[start..<end]
    guard xmlAttribute("type", in: element) == "dynamic" else { return .complete }
    let period = xmlAttribute("minimumUpdatePeriod", in: element).flatMap(duration)
    // Without an update period, players wait for new segments.
    let segment = xmlAttribute("maxSegmentDuration", in: element).flatMap(duration)
    return .every(period ?? segment ?? defaultSegment)
  }

  private static let defaultSegment: Double = 2

  private static func xmlAttribute(_ name: String, in element: Substring) -> Substring? {
    for quote in ["\"", "'"] {
      var rest = element
      while let found = rest.firstRange(of: "\(name)=\(quote)") {
        let isWhole =
          found.lowerBound > rest.startIndex
          && rest[rest.index(before: found.lowerBound)].isWhitespace
        rest = rest[found.upperBound...]
        if isWhole { return rest.prefix { String($0) != quote } }
      }
    }
    return nil
  }

  /// Returns the seconds of an xs:duration without years and months, as in MPDs: `PT1M2.5S`.
  private static func duration(_ text: Substring) -> Double? {
    guard text.hasPrefix("P") else { return nil }
    var sum = 0.0
    var number = ""
    for character in text.dropFirst() {
      switch character {
      case "T": continue
      case "0"..."9", ".": number.append(character)
      default:
        let units: [Character: Double] = ["D": 86_400, "H": 3600, "M": 60, "S": 1]
        guard let unit = units[character], let value = Double(number) else { return nil }
        sum += value * unit
        number = ""
      }
    }
    return number.isEmpty && sum.isFinite ? min(sum, Double(CacheControl.longest)) : nil
  }
}
