// SPDX-License-Identifier: MIT
import Foundation
import Refrain

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// XSPF version 1 (https://www.xspf.org/spec): a `playlist` contains a `trackList`, which contains
/// a `track` per entry.
extension PlaylistReading {
  mutating func readXSPF(_ text: String) throws(MediaCacheError) {
    let document = XSPFDocument(self)
    self = try document.read(text)
  }
}

/// The delegate of a parser, for one document.
private final class XSPFDocument: NSObject, XMLParserDelegate {
  private var reading: PlaylistReading
  private var failure: MediaCacheError?
  private var errorLine: Int?

  private var path: [String] = []
  /// The base URL of each open element (xml:base).
  private var bases: [URL] = []
  private var text = ""
  private var track: Track?

  private static let baseLimit = 2048

  private struct Track {
    var line: Int
    var location: URL?
    var refusal: PlaylistLocation.Refusal?
    var title: String?
    var creator: String?
    var album: String?
    var image: URL?
    var duration: Duration?
  }

  private var isPlaylist = false
  private static let noPlaylist = MediaCacheError(
    .invalidResponse, "The file is XML or HTML, but not an XSPF playlist.",
    remedy: "Check that the URL is the playlist's, and not that of a page that shows it.")

  init(_ reading: PlaylistReading) { self.reading = reading }

  func read(_ source: String) throws(MediaCacheError) -> PlaylistReading {
    let text = try XMLProlog.withoutDeclaration(source)
    // A stream, because libxml2 rejects large documents in one piece.
    let parser = XMLParser(stream: InputStream(data: Data(text.utf8)))
    parser.shouldProcessNamespaces = true
    parser.shouldResolveExternalEntities = false
    parser.delegate = self
    let isWellFormed = parser.parse()
    if let failure { throw failure }
    let code = (parser.parserError as NSError?)?.code
    if errorLine != nil || !(isWellFormed || code.map(Self.isHarmless) ?? false) {
      throw MediaCacheError(
        .invalidResponse,
        "The playlist is not well-formed XML: line \(errorLine ?? 1) is invalid.",
        remedy: "Check that the URL is the playlist's, or create the playlist again.")
    }
    guard isPlaylist else { throw Self.noPlaylist }
    return reading
  }

  private func fail(_ parser: XMLParser, _ error: MediaCacheError) {
    guard failure == nil else { return }
    failure = error
    parser.abortParsing()
  }

  /// Returns whether the code of libxml2 (xmlerror.h) concerns a namespace that is not declared or
  /// not absolute, as VLC's extensions have them in copied lists.
  private static func isHarmless(_ code: Int) -> Bool {
    (99...100).contains(code) || (200...205).contains(code)
  }

  func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
    guard errorLine == nil, !Self.isHarmless((parseError as NSError).code) else { return }
    errorLine = parser.lineNumber
  }

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?, attributes: [String: String] = [:]
  ) {
    guard failure == nil else { return }
    let name = elementName.lowercased()
    if path.isEmpty {
      guard name == "playlist" else { return fail(parser, Self.noPlaylist) }
      isPlaylist = true
    }
    path.append(name)
    bases.append(base(attributes["xml:base"]))
    text = ""
    if path == ["playlist", "tracklist", "track"] { track = Track(line: parser.lineNumber) }
  }

  /// - Parameter attribute: ignored if it is long, because each of 100,000 locations would be as
  ///   long.
  private func base(_ attribute: String?) -> URL {
    let outer = bases.last ?? reading.url
    guard let attribute, let base = URL(text: attribute, relativeTo: outer),
      base.absoluteString.utf8.count <= Self.baseLimit
    else { return outer }
    return base
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

  func parser(_ parser: XMLParser, foundCDATA CDATABlock: Data) {
    text += String(decoding: CDATABlock, as: UTF8.self)
  }

  func parser(
    _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?
  ) {
    guard failure == nil, !path.isEmpty else { return }
    defer {
      path.removeLast()
      bases.removeLast()
      text = ""
    }
    if path == ["playlist", "title"] {
      reading.title = reading.title ?? PlaylistText.shown(text)
    } else if path.starts(with: ["playlist", "tracklist", "track"]) {
      if path.count == 4 { tell(path[3]) }
      if path.count == 3, let track { end(track, parser) }
    }
  }

  private func tell(_ element: String) {
    switch element {
    case "location": locate()
    case "title": track?.title = PlaylistText.shown(text)
    case "creator": track?.creator = PlaylistText.shown(text)
    case "album": track?.album = PlaylistText.shown(text)
    case "image": track?.image = reading.artwork(trimmedText, base: bases.last, is: .uri)
    case "duration":
      track?.duration = Double(trimmedText).flatMap { $0 > 0 ? Duration(ofMedia: $0 / 1000) : nil }
    default: return
    }
  }

  private var trimmedText: String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

  /// Takes the first usable location of a track, which may have several.
  private func locate() {
    guard track?.location == nil, !trimmedText.isEmpty else { return }
    do {
      track?.location = try PlaylistLocation(of: reading.url).resolve(
        trimmedText, base: bases.last, as: .uri)
    } catch {
      if track?.refusal == nil { track?.refusal = error }
    }
  }

  private func end(_ track: Track, _ parser: XMLParser) {
    defer { self.track = nil }
    do throws(MediaCacheError) {
      guard let location = track.location else {
        let why = track.refusal ?? PlaylistLocation.Refusal("The track has no location.")
        return try reading.skip("Line \(track.line)", why)
      }
      try reading.add(
        Media(
          location, title: track.title, artist: track.creator, album: track.album,
          artwork: track.image, duration: track.duration))
    } catch {
      fail(parser, error)
    }
  }
}

extension Playlist {
  var xspf: String {
    var lines = [
      #"<?xml version="1.0" encoding="UTF-8"?>"#,
      #"<playlist version="1" xmlns="http://xspf.org/ns/0/">"#,
    ]
    func add(_ indentation: String, _ element: String, _ text: String?) {
      guard let text = text.flatMap(PlaylistText.shown) else { return }
      lines.append("\(indentation)<\(element)>\(XMLProlog.escaped(text))</\(element)>")
    }
    add("  ", "title", title)
    lines.append("  <trackList>")
    for media in entries {
      lines.append("    <track>")
      add("      ", "location", media.url.absoluteString)
      add("      ", "title", media.title)
      add("      ", "creator", media.artist)
      add("      ", "album", media.album)
      add("      ", "image", media.artwork?.absoluteString)
      add("      ", "duration", media.duration.flatMap(Self.milliseconds).map { "\($0)" })
      lines.append("    </track>")
    }
    lines += ["  </trackList>", "</playlist>"]
    return lines.joined(separator: "\n") + "\n"
  }
}
