// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Reads a podcast feed in one pass over its tokens: RSS (version 2.0, and earlier ones) or Atom
/// (RFC 4287).
///
/// A feed that is not well-formed is read as far as its tokens are clear. Elements that do not
/// matter are skipped with their content.
struct FeedReader {
  private var scanner: MarkupScanner
  private let url: URL
  private var names = FeedNames()
  /// The open elements; nil for one that does not matter.
  private var open: [FeedElement?] = []
  /// The base URLs (xml:base) of open elements that state one.
  private var bases: [(depth: Int, url: URL)] = []
  /// The text of the innermost element, if it matters.
  private var text = ""
  /// Whether the text is markup itself, as titles of Atom may be.
  private var isMarkup = false

  private(set) var show = FeedShow()
  private(set) var episodes: [FeedEpisode] = []
  private var episode: FeedEpisode?
  private(set) var hasShow = false
  /// Whether the feed ends before its root does.
  private(set) var isIncomplete = false
  private var chapterCount = 0
  private var baseCount = 0
  private var counted = (line: 1, index: 0)

  private static let longestText = 64 << 10
  private static let longestBase = 512
  private static let longestLink = 2048
  private static let basesAtOnce = 8
  private static let chaptersPerEpisode = 1000

  init(_ source: String, from url: URL) {
    scanner = MarkupScanner(Array(source.utf8))
    self.url = url
  }

  private var body: [UInt8] { scanner.body }

  mutating func read() throws(MediaCacheError) {
    while let token = scanner.next() {
      switch token {
      case .start(let name, let isEmpty):
        try start(name)
        if isEmpty { end() }
      case .end: end()
      case .text(let range):
        guard hasText else { continue }
        text += MarkupText.decoded(body[range]) ?? ""
      case .section(let range):
        guard hasText else { continue }
        text += String(decoding: body[range], as: UTF8.self)
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
    (open.last.flatMap { $0?.hasText } ?? false) && text.utf8.count < Self.longestText
  }

  // MARK: Elements

  private mutating func start(_ name: Range<Int>) throws(MediaCacheError) {
    let depth = open.count
    names.open(scanner.attributes, in: body, depth: depth)
    let (vocabulary, local) = names.resolve(body[name])
    let element =
      if let parent = open.last { FeedElement(vocabulary, local, in: parent) } else {
        FeedElement(root: local.lowercased())
      }
    open.append(element)
    text = ""
    guard let element else { return }
    noteBase(depth: depth)
    if element == .show { hasShow = true }
    if element == .episode {
      guard episodes.count < Playlist.entryLimit else { throw PlaylistReading.tooMany }
      episode = FeedEpisode(line: line(of: name.lowerBound))
    }
    readAttributes(of: element)
  }

  /// Takes the base URL that an element states.
  private mutating func noteBase(depth: Int) {
    guard let text = attribute("xml:base"), text.utf8.count <= Self.longestBase,
      bases.count < Self.basesAtOnce, baseCount < Playlist.entryLimit
    else { return }
    baseCount += 1
    guard let base = URL(text: text, relativeTo: referenceBase),
      base.absoluteString.utf8.count <= Self.longestBase
    else { return }
    bases.append((depth, base))
  }

  private mutating func end() {
    guard let element = open.popLast() else { return }
    if let element { finish(element) }
    text = ""
    names.close(to: open.count)
    while let last = bases.last, last.depth >= open.count { bases.removeLast() }
  }

  /// The URL to which references here are relative.
  private var referenceBase: URL { bases.last?.url ?? url }

  /// Returns the line of an index, which must not be before that of an earlier call.
  private mutating func line(of index: Int) -> Int {
    counted.line += body[counted.index..<index].count { $0 == 0x0A }
    counted.index = index
    return counted.line
  }

  private func attribute(_ name: StaticString) -> String? {
    for attribute in scanner.attributes
    where name.withUTF8Buffer({ body[attribute.name].elementsEqual($0) }) {
      guard attribute.value.count <= Self.longestText else { return nil }
      return MarkupText.decoded(body[MarkupText.trimmed(attribute.value, in: body)])
    }
    return nil
  }

  // MARK: Content

  private mutating func readAttributes(of element: FeedElement) {
    switch element {
    case .title:
      isMarkup = attribute("type").map { $0 == "html" || $0 == "text/html" } ?? false
    case .enclosure:
      noteEnclosure(attribute("url") ?? attribute("rdf:resource"), attribute("type"))
    case .link where attribute("rel") == "enclosure":
      noteEnclosure(attribute("href"), attribute("type"))
    case .mediaContent: readMediaContent()
    case .thumbnail where episode != nil && episode?.thumbnail == nil:
      let image = link("url")
      episode?.thumbnail = image
    case .image where episode != nil && episode?.image == nil:
      let image = link("href")
      episode?.image = image
    case .image where episode == nil && show.image == nil: show.image = link("href")
    case .chaptersFile where episode?.chaptersURL == nil:
      let file = link("url")
      episode?.chaptersURL = file
    case .chapter: readChapter()
    default: return
    }
  }

  private mutating func readMediaContent() {
    let medium = attribute("medium")
    let isNamed = medium == "audio" || medium == "video"
    guard FeedEpisode.isPlayable(attribute("type")) ?? isNamed, episode?.content == nil else {
      return
    }
    let duration = attribute("duration").flatMap { FeedTime.duration($0) }
    let content = attribute("url").map { FeedEpisode.Reference(text: $0, base: referenceBase) }
    if episode?.duration == nil { episode?.duration = duration }
    episode?.content = content
  }

  private mutating func noteEnclosure(_ text: String?, _ type: String?) {
    guard let text, !text.isEmpty else { return }
    let reference = FeedEpisode.Reference(text: text, base: referenceBase)
    episode?.noteEnclosure(reference, type)
  }

  private mutating func readChapter() {
    guard let start = attribute("start").flatMap({ FeedTime.duration($0) }),
      chapterCount < Playlist.entryLimit,
      (episode?.chapters.count ?? .max) < Self.chaptersPerEpisode
    else { return }
    chapterCount += 1
    let chapter = Media.Chapter(
      start: start, title: attribute("title").flatMap { PlaylistText.shown($0) },
      link: link("href"), artwork: link("image"))
    episode?.chapters.append(chapter)
  }

  /// Returns the URL of a picture or a page in an attribute; nil if it is not valid, which does not
  /// matter.
  private func link(_ name: StaticString) -> URL? { attribute(name).flatMap { link(to: $0) } }

  private func link(to text: String) -> URL? {
    guard !text.isEmpty, text.utf8.count <= Self.longestLink else { return nil }
    return try? PlaylistLocation(of: url).resolve(text, base: referenceBase, as: .uri)
  }

  private mutating func finish(_ element: FeedElement) {
    switch element {
    case .episode:
      if let episode { episodes.append(episode) }
      episode = nil
    case .title:
      let title = takeText()
      if episode != nil { episode?.title = title } else { show.title = show.title ?? title }
    case .shortTitle:
      let title = takeText()
      episode?.shortTitle = title
    case .author:
      let author = takeText()
      if episode == nil {
        show.author = show.author ?? author
      } else if episode?.author == nil {
        episode?.author = author
      }
    case .pictureURL where show.picture == nil:
      show.picture = link(to: text.trimmingCharacters(in: .whitespacesAndNewlines))
    case .duration:
      if let duration = FeedTime.duration(text) { episode?.duration = duration }
    case .published:
      if let date = FeedTime.date(text) { episode?.date = date }
    case .updated:
      let date = FeedTime.date(text)
      episode?.updated = date
    default: return
    }
  }

  /// Returns the text on one line, without indentation.
  private mutating func takeText() -> String? {
    if isMarkup { text = MarkupText.decoded(Array(text.utf8)[...]) ?? text }
    isMarkup = false
    return PlaylistText.shown(
      text.split(whereSeparator: \.isWhitespace).joined(separator: " "))
  }
}
