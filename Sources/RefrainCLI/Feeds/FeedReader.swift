// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import RefrainStreams

/// Reads a podcast feed in one pass over its tokens: RSS 2.0, or Atom (RFC 4287).
///
/// A feed that is not well-formed is read as far as its tokens are clear. Elements that do not
/// matter are skipped with their content. Nothing that a feed refers to is opened.
struct FeedReader {
  /// What a feed states about all its episodes.
  struct Show {
    var title: String?
    /// The picture for apps of podcasts, and the one of RSS or Atom themselves.
    var image: URL?
    var picture: URL?
  }

  /// What a feed states about an episode.
  struct Episode {
    var title: String?
    var duration: Duration?
    /// In seconds since 1970.
    var date: Double?
    var updated: Double?
    var image: URL?
    var chapters: URL?
    /// The first enclosure that may be media, and the URL to which it is relative.
    var enclosure: (text: String, base: URL)?
  }

  private(set) var show = Show()
  private(set) var episodes: [Episode] = []
  private(set) var hasShow = false
  /// Whether the feed ends before its root does.
  private(set) var isIncomplete = false

  private var scanner: MarkupScanner
  private let url: URL
  /// The usual prefixes of the vocabularies whose prefixes the root declares (Namespaces in XML 1.0),
  /// each with its colon; nil for one that does not matter.
  private var prefixes: [String: String?] = [:]
  /// The open elements that matter, and the URL to which references in them are relative
  /// (xml:base).
  private var open: [(element: FeedElement, base: URL)] = []
  /// The number of open elements within them that do not matter.
  private var ignored = 0
  private var episode: Episode?
  /// The text of the innermost element, if it matters.
  private var text = ""
  /// Whether the text is markup itself, as titles of Atom may be.
  private var isMarkup = false

  private static let longestText = 64 << 10
  private static let longestLink = 2048
  private static let longestBase = 512
  private static let longestName = 64
  private static let mostPrefixes = 64

  init(_ source: String, from url: URL) {
    scanner = MarkupScanner(Array(source.utf8))
    self.url = url
  }

  private var body: [UInt8] { scanner.body }

  /// - Throws: `MediaCacheError` if the feed declares entities, or has too many episodes.
  mutating func read() throws(MediaCacheError) {
    while let token = scanner.next() {
      switch token {
      case .start(let name, let isEmpty):
        try start(name)
        if isEmpty { end() }
      case .end: end()
      case .text(let range):
        if hasText { text += MarkupText.decoded(body[range]) ?? "" }
      case .section(let range):
        if hasText { text += String(decoding: body[range], as: UTF8.self) }
      case .unsupported:
        throw MediaCacheError(
          .invalidResponse, "The feed declares entities, which could make it grow without bounds.",
          remedy: "Use a feed without a document type.")
      }
    }
    isIncomplete = !open.isEmpty
  }

  /// Whether the text here matters.
  private var hasText: Bool {
    ignored == 0 && open.last?.element.hasText == true && text.utf8.count < Self.longestText
  }

  // MARK: Elements

  private mutating func start(_ name: Range<Int>) throws(MediaCacheError) {
    if open.isEmpty, ignored == 0 { notePrefixes() }
    guard ignored == 0, let element = element(body[name].prefix(Self.longestName)) else {
      ignored += 1
      return
    }
    open.append((element, base(of: element)))
    text = ""
    if element == .show { hasShow = true }
    if element == .episode {
      guard episodes.count < Playlist.entryLimit else { throw Feed.tooManyEpisodes }
      episode = Episode()
    }
    readAttributes(of: element)
  }

  private mutating func end() {
    guard ignored == 0 else {
      ignored -= 1
      return
    }
    guard let element = open.last?.element else { return }
    finish(element)
    open.removeLast()
    text = ""
  }

  private func element(_ name: ArraySlice<UInt8>) -> FeedElement? {
    let name = String(decoding: name, as: UTF8.self)
    let colon = name.firstIndex(of: ":").map(name.index(after:)) ?? name.startIndex
    // A prefix that is not declared has its usual meaning.
    let declared = prefixes[String(name[..<colon])] ?? String(name[..<colon])
    return declared.flatMap { FeedElement($0 + name[colon...], in: open.last?.element) }
  }

  private mutating func notePrefixes() {
    prefixes = ["atom:": ""]
    for attribute in scanner.attributes.prefix(Self.mostPrefixes) {
      let name = String(decoding: body[attribute.name].prefix(Self.longestName), as: UTF8.self)
      guard name.hasPrefix("xmlns:") else { continue }
      let namespace = String(
        decoding: body[attribute.value].prefix(Self.longestBase), as: UTF8.self)
      prefixes.updateValue(
        FeedElement.prefix(ofNamespace: namespace), forKey: name.dropFirst("xmlns:".count) + ":")
    }
  }

  /// Returns the URL to which references in an element are relative (XML Base).
  private func base(of element: FeedElement) -> URL {
    let outer = open.last?.base ?? url
    switch element {
    case .root, .show, .episode:
      guard let text = attribute("xml:base"), text.utf8.count <= Self.longestBase,
        let base = URL(text: text, relativeTo: outer),
        base.absoluteString.utf8.count <= Self.longestBase
      else { return outer }
      return base
    default: return outer
    }
  }

  // MARK: Content

  private func attribute(_ name: String) -> String? {
    for attribute in scanner.attributes where body[attribute.name].elementsEqual(name.utf8) {
      guard attribute.value.count <= Self.longestText else { return nil }
      return MarkupText.decoded(body[MarkupText.trimmed(attribute.value, in: body)])
    }
    return nil
  }

  private mutating func readAttributes(of element: FeedElement) {
    switch element {
    case .title: isMarkup = ["html", "text/html"].contains(attribute("type"))
    case .enclosure: noteEnclosure("url")
    case .link where attribute("rel") == "enclosure": noteEnclosure("href")
    case .image:
      let image = attribute("href").flatMap(link)
      if episode == nil { show.image = show.image ?? image } else { episode?.image = image }
    case .chapters:
      let file = attribute("url").flatMap(link)
      episode?.chapters = file
    default: return
    }
  }

  private mutating func noteEnclosure(_ name: String) {
    guard episode?.enclosure == nil, let text = attribute(name), !text.isEmpty,
      Self.mayBeMedia(text, attribute("type")?.lowercased()), let base = open.last?.base
    else { return }
    episode?.enclosure = (text, base)
  }

  /// - Parameter type: a MIME type in lower case.
  private static func mayBeMedia(_ location: String, _ type: String?) -> Bool {
    let path = location.prefix { $0 != "?" && $0 != "#" }
    guard let type, !MediaFiles.isMedia(path.split(separator: "/").last ?? "") else { return true }
    return ["audio/", "video/", "application/ogg", "application/octet-stream"].contains {
      type.hasPrefix($0)
    } || type.contains("mpegurl") || type.contains("dash+xml")
  }

  /// Returns the URL of a picture or of chapters; nil if it is not valid, which does not matter.
  private func link(to text: String) -> URL? {
    guard !text.isEmpty, text.utf8.count <= Self.longestLink else { return nil }
    return try? PlaylistLocation(of: url).resolve(text, base: open.last?.base, as: .uri)
  }

  private mutating func finish(_ element: FeedElement) {
    switch element {
    case .episode:
      if let episode { episodes.append(episode) }
      episode = nil
    case .title:
      let title = title
      if episode == nil { show.title = show.title ?? title } else { episode?.title = title }
    case .pictureURL:
      show.picture = show.picture ?? link(to: text.trimmingCharacters(in: .whitespacesAndNewlines))
    case .duration: episode?.duration = FeedTime.duration(text)
    case .published: episode?.date = FeedTime.date(text)
    case .updated: episode?.updated = FeedTime.date(text)
    default: return
    }
  }

  /// The text on one line, without indentation.
  private var title: String? {
    let text = isMarkup ? MarkupText.decoded(Array(text.utf8)[...]) ?? text : text
    return PlaylistText.shown(text.split(whereSeparator: \.isWhitespace).joined(separator: " "))
  }
}

/// The elements of a podcast feed that matter for playing.
enum FeedElement {
  /// The root of RSS.
  case root
  /// The show: a `channel` of RSS, or the root of Atom.
  case show
  /// An episode: an `item` of RSS, or an `entry` of Atom.
  case episode
  case title
  /// An `enclosure` of RSS, or a `link` of Atom.
  case enclosure, link
  /// A picture for apps of podcasts.
  case image
  /// An `image` of RSS, which has a URL.
  case picture
  case pictureURL
  case duration
  case published, updated
  /// A reference to chapters.
  case chapters

  /// - Parameters:
  ///   - name: with the usual prefix of its vocabulary; without one, of RSS or Atom.
  ///   - parent: the element around it; nil for the root of the document.
  init?(_ name: String, in parent: FeedElement?) {
    switch (parent, name) {
    case (nil, "rss"): self = .root
    case (nil, "feed"), (.root, "channel"): self = .show
    case (.show, "item"), (.show, "entry"): self = .episode
    case (.show, "title"), (.episode, "title"): self = .title
    case (.show, "image"): self = .picture
    case (.picture, "url"), (.show, "logo"): self = .pictureURL
    case (.show, "itunes:image"), (.episode, "itunes:image"): self = .image
    case (.episode, "enclosure"): self = .enclosure
    case (.episode, "link"): self = .link
    case (.episode, "itunes:duration"): self = .duration
    case (.episode, "pubDate"), (.episode, "published"): self = .published
    case (.episode, "updated"): self = .updated
    case (.episode, "podcast:chapters"): self = .chapters
    default: return nil
    }
  }

  /// Whether the element's text matters.
  var hasText: Bool {
    switch self {
    case .title, .pictureURL, .duration, .published, .updated: true
    default: false
    }
  }

  /// Returns the usual prefix of a vocabulary, with its colon; nil for one that does not matter.
  static func prefix(ofNamespace namespace: String) -> String? {
    let name = namespace.lowercased()
    // RFC 4287.
    if name.contains("//www.w3.org/2005/atom") { return "" }
    // https://help.apple.com/itc/podcasts_connect/#/itcb54353390
    if name.contains("//www.itunes.com/dtds/podcast-1.0.dtd") { return "itunes:" }
    // https://podcasting2.org
    return name.contains("podcastindex") ? "podcast:" : nil
  }
}
