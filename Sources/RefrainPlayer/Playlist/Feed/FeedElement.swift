// SPDX-License-Identifier: MIT
import Refrain

/// The elements of a feed that matter for playing, by vocabulary, name and place.
enum FeedElement {
  /// The root of RSS; in RSS 1.0 it also contains the items.
  case root
  /// The show: a `channel` of RSS, or the root of Atom.
  case show
  /// An episode: an `item` of RSS, or an `entry` of Atom.
  case episode
  case title
  /// The title for apps of podcasts (`itunes:title`).
  case shortTitle
  /// An `enclosure` of RSS, or a `link` of Atom.
  case enclosure, link
  case mediaContent, mediaGroup, thumbnail
  case author
  /// An `author` of Atom, which has a name.
  case person
  case image
  /// An `image` of RSS, which has a URL.
  case picture
  case pictureURL
  case duration
  case published, updated
  /// A reference to chapters (`podcast:chapters`).
  case chaptersFile
  /// Chapters in the feed (`psc:chapters`).
  case chapters, chapter

  /// - Parameter parent: nil within an element that does not matter.
  init?(_ vocabulary: FeedVocabulary, _ name: String, in parent: FeedElement?) {
    let found: FeedElement?
    switch parent {
    case .root:
      switch (vocabulary, name) {
      case (.plain, "channel"): found = .show
      case (.plain, "item"): found = .episode
      default: found = nil
      }
    case .show: found = Self.inShow(vocabulary, name)
    case .episode: found = Self.inEpisode(vocabulary, name)
    case .mediaGroup: found = Self.inGroup(vocabulary, name)
    case .person: found = vocabulary == .atom && name == "name" ? .author : nil
    case .picture: found = vocabulary == .plain && name == "url" ? .pictureURL : nil
    case .chapters: found = vocabulary == .simpleChapters && name == "chapter" ? .chapter : nil
    default: found = nil
    }
    guard let found else { return nil }
    self = found
  }

  /// - Parameter name: the local name, in lower case.
  init?(root name: String) {
    switch name {
    case "rss", "rdf": self = .root
    case "feed": self = .show
    default: return nil
    }
  }

  private static func inShow(_ vocabulary: FeedVocabulary, _ name: String) -> FeedElement? {
    switch (vocabulary, name) {
    case (.plain, "item"), (.atom, "entry"): .episode
    case (.plain, "title"), (.atom, "title"): .title
    case (.plain, "image"): .picture
    case (.atom, "logo"), (.atom, "icon"): .pictureURL
    case (.atom, "author"): .person
    case (.itunes, "author"): .author
    case (.itunes, "image"): .image
    default: nil
    }
  }

  private static func inEpisode(_ vocabulary: FeedVocabulary, _ name: String) -> FeedElement? {
    switch (vocabulary, name) {
    case (.plain, "title"), (.atom, "title"): .title
    case (.plain, "enclosure"), (.enclosures, "enclosure"): .enclosure
    case (.atom, "link"): .link
    case (.plain, "pubDate"), (.dublinCore, "date"), (.atom, "published"): .published
    case (.atom, "updated"): .updated
    case (.atom, "author"): .person
    case (.dublinCore, "creator"), (.itunes, "author"): .author
    case (.itunes, "title"): .shortTitle
    case (.itunes, "duration"): .duration
    case (.itunes, "image"): .image
    case (.podcast, "chapters"): .chaptersFile
    case (.simpleChapters, "chapters"): .chapters
    case (.media, "group"): .mediaGroup
    default: inGroup(vocabulary, name)
    }
  }

  private static func inGroup(_ vocabulary: FeedVocabulary, _ name: String) -> FeedElement? {
    switch (vocabulary, name) {
    case (.media, "content"): .mediaContent
    case (.media, "thumbnail"): .thumbnail
    default: nil
    }
  }

  /// Whether the element's text matters.
  var hasText: Bool {
    switch self {
    case .title, .shortTitle, .author, .pictureURL, .duration, .published, .updated: true
    default: false
    }
  }
}

/// The vocabularies of feeds.
enum FeedVocabulary: Sendable {
  /// RSS itself.
  case plain
  /// RFC 4287.
  case atom
  /// https://help.apple.com/itc/podcasts_connect/#/itcb54353390
  case itunes
  /// https://podcasting2.org
  case podcast
  /// Podlove Simple Chapters: https://podlove.org/simple-chapters
  case simpleChapters
  /// https://www.rssboard.org/media-rss
  case media
  case dublinCore
  /// The enclosures of RSS 1.0.
  case enclosures
  case other

  init(namespace: String) {
    var name = namespace.lowercased()
    while name.hasSuffix("/") || name.hasSuffix("#") { name.removeLast() }
    switch name.split(separator: "/", maxSplits: 1).last ?? "" {
    case "", "/purl.org/rss/1.0", "/backend.userland.com/rss2": self = .plain
    case "/www.w3.org/2005/atom": self = .atom
    case "/www.itunes.com/dtds/podcast-1.0.dtd": self = .itunes
    case "/podcastindex.org/namespace/1.0",
      "/github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md":
      self = .podcast
    case "/podlove.org/simple-chapters": self = .simpleChapters
    case "/search.yahoo.com/mrss": self = .media
    case "/purl.org/dc/elements/1.1": self = .dublinCore
    case "/purl.oclc.org/net/rss_2.0/enc", "/purl.oclc.org/net/rss_2.0/enc.rdf":
      self = .enclosures
    default: self = .other
    }
  }

  /// The vocabulary of a prefix that the feed does not declare.
  init(prefix: String) {
    switch prefix {
    case "": self = .plain
    case "atom", "atom10": self = .atom
    case "itunes": self = .itunes
    case "podcast": self = .podcast
    case "psc": self = .simpleChapters
    case "media": self = .media
    case "dc": self = .dublinCore
    case "enc": self = .enclosures
    default: self = .other
    }
  }
}

/// The prefixes of vocabularies that are declared in the open elements (Namespaces in XML 1.0).
struct FeedNames {
  private var declared: [(depth: Int, prefix: String, vocabulary: FeedVocabulary)] = []

  /// Each look-up passes over all of them. Feeds declare a dozen.
  private static let limit = 64

  /// Notes the declarations of a start tag.
  ///
  /// - Parameter depth: the number of elements around it.
  mutating func open(_ attributes: [MarkupScanner.Attribute], in body: [UInt8], depth: Int) {
    for attribute in attributes where body[attribute.name].starts(with: Self.mark) {
      guard declared.count < Self.limit, attribute.value.count <= 256 else { continue }
      let name = String(decoding: body[attribute.name.dropFirst(Self.mark.count)], as: UTF8.self)
      guard name.isEmpty || name.hasPrefix(":"), name.utf8.count <= 32 else { continue }
      let namespace = MarkupText.decoded(body[attribute.value]) ?? ""
      var vocabulary = FeedVocabulary(namespace: namespace)
      // Of RSS itself nobody agreed on a namespace.
      if depth == 0, name.isEmpty, vocabulary == .other { vocabulary = .plain }
      declared.append((depth, String(name.dropFirst()), vocabulary))
    }
  }

  /// Drops the declarations of elements that have ended.
  mutating func close(to depth: Int) {
    while let last = declared.last, last.depth >= depth { declared.removeLast() }
  }

  /// Returns the vocabulary and the local name of a name.
  func resolve(_ name: ArraySlice<UInt8>) -> (FeedVocabulary, name: String) {
    let colon = name.firstIndex(of: UInt8(ascii: ":"))
    let prefix = colon.map { String(decoding: name[..<$0].prefix(33), as: UTF8.self) } ?? ""
    let local = name[(colon.map { $0 + 1 } ?? name.startIndex)...]
    return (
      declared.last { $0.prefix == prefix }?.vocabulary ?? FeedVocabulary(prefix: prefix),
      String(decoding: local.prefix(32), as: UTF8.self)
    )
  }

  private static let mark = Array("xmlns".utf8)
}
