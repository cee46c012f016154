// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// M3U has no standard: one location per line and, since Winamp, lines with `#EXT` before it that
/// describe it. Such a line between `#EXTINF` and the location describes that entry only, elsewhere
/// all entries that follow.
extension PlaylistReading {
  /// The attributes that `#EXT` lines state.
  private struct Known {
    var artist: String?
    var album: String?
    var artwork: URL?
  }

  /// The content of an `#EXTINF` line, and the attributes of its entry.
  private struct Announced {
    var display: String?
    var duration: Duration?
    var isChannel = false
    var own: Known
  }

  mutating func readM3U(_ text: String) throws(MediaCacheError) {
    var known = Known()
    var announced: Announced?
    var isImageNext = false
    for (number, line) in PlaylistText.lines(of: text) {
      if line.utf8.first == UInt8(ascii: "#") {
        let (name, value) = directive(line)
        switch name {
        case "#PLAYLIST": title = title ?? PlaylistText.shown(value)
        case "#EXTINF": announced = announcement(value, known)
        case "#EXTART", "#EXTALB", "#EXTIMG":
          var told = announced?.own ?? known
          isImageNext = tell(name, value, &told)
          if announced == nil { known = told } else { announced?.own = told }
        default: try refuseLiveStream(name)
        }
        continue
      }
      if isImageNext, hasImageExtension(line) {
        let picture = artwork(line)
        if announced == nil { known.artwork = picture } else { announced?.own.artwork = picture }
        isImageNext = false
        continue
      }
      isImageNext = false
      defer { announced = nil }
      let location: URL
      do {
        location = try PlaylistLocation(of: url).resolve(line, as: .pathOrURI)
      } catch {
        try skip("Line \(number)", error)
        continue
      }
      try add(media(at: location, announced ?? Announced(own: known)))
    }
  }

  /// Splits `#NAME:value`, and returns the name in upper case.
  private func directive(_ line: Substring) -> (name: String, value: Substring) {
    guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      return (line.prefix(64).uppercased(), "")
    }
    return (line[..<colon].uppercased(), PlaylistText.trimmed(line[colon...].dropFirst()))
  }

  private func media(at location: URL, _ announced: Announced) -> Media {
    var media = Media(
      location, artist: announced.own.artist, album: announced.own.album,
      artwork: announced.own.artwork, duration: announced.duration)
    guard let display = announced.display else { return media }
    if let artist = announced.own.artist, display.hasPrefix(artist + " - ") {
      media.title = PlaylistText.shown(display.dropFirst(artist.count + 3))
    } else if announced.isChannel || display == announced.own.artist {
      media.title = announced.isChannel ? display : nil
    } else {
      let (artist, title) = PlaylistText.artistAndTitle(display)
      media.title = title
      media.artist = artist ?? media.artist
    }
    return media
  }

  /// - Returns: whether the next line is the image's location.
  private func tell(_ name: String, _ value: Substring, _ told: inout Known) -> Bool {
    switch name {
    case "#EXTART": told.artist = PlaylistText.shown(value)
    case "#EXTALB": told.album = PlaylistText.shown(value)
    default:
      // Either the location, or a description ("front cover") with the location on the next line.
      guard value.contains("/") || hasImageExtension(value) else { return true }
      told.artwork = artwork(value)
    }
    return false
  }

  private func hasImageExtension(_ text: Substring) -> Bool {
    let path = text.prefix { $0 != "?" }.lowercased()
    return [".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp"].contains { path.hasSuffix($0) }
  }

  /// Parses `seconds key="value" key="value",display`: the keys are those of lists of channels.
  private func announcement(_ value: Substring, _ known: Known) -> Announced {
    let number = value.prefix { $0 != "," && $0 != " " && $0 != "\t" }
    var announced = Announced(own: known)
    announced.duration = Double(number).flatMap { $0 > 0 ? Duration(ofMedia: $0) : nil }
    let (attributes, display) = attributes(value.dropFirst(number.count))
    announced.display = PlaylistText.shown(display)
    announced.isChannel = attributes.keys.contains { $0.hasPrefix("tvg-") }
    if let logo = attributes["tvg-logo"] ?? attributes["logo"], !logo.isEmpty {
      announced.own.artwork = artwork(logo)
    }
    return announced
  }

  /// Splits attributes and display. A comma within quotes does not begin the display.
  private func attributes(_ text: Substring) -> (values: [String: Substring], display: Substring) {
    var values: [String: Substring] = [:]
    var rest = PlaylistText.trimmed(text)
    while let first = rest.first, first != "," {
      let key = rest.prefix { $0 != "=" && $0 != "," }
      rest = rest[key.endIndex...]
      guard rest.first == "=" else {
        // Some writers omit the comma: all of it is the display.
        if rest.isEmpty { rest = key }
        break
      }
      rest = rest.dropFirst()
      let value: Substring
      if rest.first == "\"", let close = rest.dropFirst().firstIndex(of: "\"") {
        value = rest[rest.startIndex..<close].dropFirst()
        rest = rest[close...].dropFirst()
      } else {
        value = rest.prefix { $0 != " " && $0 != "," }
        rest = rest[value.endIndex...]
      }
      values[key.trimmingCharacters(in: .whitespaces).lowercased()] = value
      rest = PlaylistText.trimmed(rest)
    }
    return (values, rest.first == "," ? rest.dropFirst() : rest)
  }

  /// Throws for a tag of HTTP Live Streams (RFC 8216 §4.3).
  private func refuseLiveStream(_ name: String) throws(MediaCacheError) {
    guard StreamKind.isHLSTag(name[...]) else { return }
    throw MediaCacheError(
      .invalidResponse,
      "The file is an HTTP Live Stream, one item in many segments, and not a list of media.",
      remedy: "Play its URL as one item.")
  }
}

extension Playlist {
  /// The playlist as M3U in UTF-8, which permits the extension `.m3u8`. A title without an artist
  /// that contains " - " is read back as both: the format has one line for them.
  var m3u: String {
    var lines = ["#EXTM3U"]
    if let title = title.flatMap(PlaylistText.shown) { lines.append("#PLAYLIST:\(title)") }
    for media in entries {
      let artist = media.artist.flatMap(PlaylistText.shown)
      let album = media.album.flatMap(PlaylistText.shown)
      let display = PlaylistText.line(for: media)
      if display != nil || album != nil || media.artwork != nil || media.duration != nil {
        let seconds = media.duration.flatMap(Self.seconds) ?? "-1"
        lines.append("#EXTINF:\(seconds),\(display ?? "")")
        if let artist { lines.append("#EXTART:\(artist)") }
        if let album { lines.append("#EXTALB:\(album)") }
        if let artwork = media.artwork { lines.append("#EXTIMG:\(artwork.absoluteString)") }
      }
      lines.append(media.url.absoluteString)
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns the seconds to the millisecond, without a fraction if it is zero.
  private static func seconds(_ duration: Duration) -> String? {
    guard let milliseconds = milliseconds(duration) else { return nil }
    let (whole, part) = milliseconds.quotientAndRemainder(dividingBy: 1000)
    return part == 0 ? "\(whole)" : "\(whole).\(String(1000 + part).dropFirst())"
  }

  /// Returns the milliseconds; nil for a duration that no media has.
  static func milliseconds(_ duration: Duration) -> Int64? {
    let seconds = duration.inSeconds
    guard seconds > 0, seconds < 1e12 else { return nil }
    return Int64((seconds * 1000).rounded())
  }
}
