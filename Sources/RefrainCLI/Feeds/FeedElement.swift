// SPDX-License-Identifier: MIT

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
