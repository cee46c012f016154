// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The media whose tags are looked up: several items of a queue may be the same one. A pure value.
struct TagSubject: Sendable, Hashable {
  var url: URL
  var headers: HeaderFields
  var key: CacheKey?

  init(_ media: Media) {
    // Requested as for playing, so that both are one representation.
    let media = media.asEngineMedia
    (url, headers, key) = (media.url, media.headers, media.key)
  }

  /// Nil for a file.
  var resource: Resource? {
    url.isFileURL ? nil : Resource(url: url, headers: headers, key: key)
  }

  /// Nil for a file.
  var origin: String? {
    guard !url.isFileURL, let host = url.host() else { return nil }
    return "\(url.scheme ?? "")://\(host):\(url.port ?? 0)"
  }
}

/// Selects the media whose tags are read next, and keeps the answers. A pure value.
///
/// First come the items that somebody looks at, then those that play next. Files are read far
/// ahead, because that is cheap.
struct TagPlan: Sendable {
  /// The number of items ahead of the current one that are requested from an origin.
  static let itemsAhead = 20
  /// The number of items ahead of the current one that are read if they are files.
  static let filesAhead = 2_000
  /// The most items that somebody looks at.
  static let mostPreferred = 50
  /// The most answers that are kept.
  private static let mostAnswers = 20_000

  private var answers: [TagSubject: MediaMetadata?] = [:]
  /// Origins that send whole resources in place of ranges.
  private var wholeOrigins: Set<String> = []
  /// Origins that could not be reached; they are asked again with the next item.
  private var restingOrigins: Set<String> = []
  private var queue: PlayQueue?
  private var preferred: [PlayQueue.Item.ID] = []
  /// In the order in which they are looked up.
  private var waiting: [TagSubject] = []
  private var items: [TagSubject: [PlayQueue.Item]] = [:]

  /// Takes over a queue, and the items that somebody looks at.
  ///
  /// - Returns: the items whose tags are known already; empty if nothing has changed.
  mutating func update(
    _ queue: PlayQueue, preferred: [PlayQueue.Item.ID]
  ) -> [(PlayQueue.Item, MediaMetadata)] {
    guard queue != self.queue || preferred != self.preferred else { return [] }
    if queue.current != self.queue?.current { restingOrigins = [] }
    (self.queue, self.preferred) = (queue, preferred)
    if answers.count > Self.mostAnswers { answers = [:] }
    (waiting, items) = ([], [:])
    var known: [(PlayQueue.Item, MediaMetadata)] = []
    for item in wanted(in: queue) {
      let subject = TagSubject(item.media)
      switch answers[subject] {
      case .some(let tags?): known.append((item, tags))
      case .some(nil): break
      case nil:
        if items[subject] == nil { waiting.append(subject) }
        items[subject, default: []].append(item)
      }
    }
    return known
  }

  private func wanted(in queue: PlayQueue) -> [PlayQueue.Item] {
    var wanted: [PlayQueue.Item] = []
    if !preferred.isEmpty {
      let ids = Set(preferred.prefix(Self.mostPreferred))
      wanted = queue.items.filter { ids.contains($0.id) }
    }
    var seen = Set(wanted.map(\.id))
    for (distance, item) in queue.ahead(Self.filesAhead).enumerated()
    where seen.insert(item.id).inserted {
      if item.media.url.isFileURL || distance < Self.itemsAhead { wanted.append(item) }
    }
    return wanted.filter { $0.id != queue.current?.id && Self.mayHaveTags($0.media) }
  }

  /// Whether tags could tell more than is known of a media. A manifest has none.
  static func mayHaveTags(_ media: Media) -> Bool {
    guard !StreamLookup.isNamed(media) else { return false }
    return media.title == nil || media.artist == nil || media.album == nil
  }

  /// Returns the media to look up now; nil: none.
  ///
  /// - Parameter busy: the resource that is being fetched already, for playing it next.
  func next(besides busy: Resource?) -> TagSubject? {
    waiting.first { subject in
      guard let resource = subject.resource else { return true }
      return resource != busy && subject.origin.map { restingOrigins.contains($0) } != true
    }
  }

  /// Whether a media is looked up only where that costs no request.
  func isOnlyStored(_ subject: TagSubject) -> Bool {
    subject.origin.map { wholeOrigins.contains($0) } == true
  }

  /// Records an answer.
  ///
  /// - Returns: the items to which it applies, if there are tags.
  mutating func note(
    _ answer: TagLookup.Answer, of subject: TagSubject
  ) -> [(PlayQueue.Item, MediaMetadata)] {
    if answer.refusesRanges, let origin = subject.origin { wholeOrigins.insert(origin) }
    if answer.isUnreachable, let origin = subject.origin {
      restingOrigins.insert(origin)
      return []
    }
    answers.updateValue(answer.tags, forKey: subject)
    waiting.removeAll { $0 == subject }
    let found = items.removeValue(forKey: subject) ?? []
    return answer.tags.map { tags in found.map { ($0, tags) } } ?? []
  }
}

extension PlayQueue {
  /// Returns the items that follow the current one in play order, and then those before it, at most
  /// `count`.
  func ahead(_ count: Int) -> [Item] {
    guard !items.isEmpty else { return [] }
    return (1...items.count).prefix(count).map { step in
      let place = (min(position, items.count - 1) + step) % items.count
      return items[shuffled?.indices[place] ?? place]
    }
  }
}

extension PlayerState {
  /// How far the current item has to be buffered ahead before anything else is fetched.
  static let margin = Duration.seconds(5)

  /// Whether the current item plays, and what it needs is there.
  var isUnhurried: Bool {
    switch status {
    case .playing, .paused: break
    case .idle, .loading, .buffering, .ended, .failed: return false
    }
    if item?.media.url.isFileURL == true || isLive { return true }
    if cacheProgress?.isComplete == true || streamProgress?.isComplete == true { return true }
    return isBufferedAhead
  }

  var isBufferedAhead: Bool {
    bufferedRanges.contains { range in
      range.contains(position) && range.upperBound - position >= Self.margin
    }
  }
}
