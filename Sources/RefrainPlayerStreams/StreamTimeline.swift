// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// The segments of one media playlist, or of one Representation (DASH), in time, and how much of
/// them is stored. A pure value.
struct StreamTimeline: Sendable {
  private struct Segment: Sendable {
    var time: Range<Duration>
    /// The resources without which the segment does not play; nil: the origin does not have it.
    var parts: [Part]?
  }

  struct Part: Sendable, Hashable {
    /// The index of the resource.
    var resource: Int
    /// Nil: all of the resource.
    var range: ByteRange?
  }

  /// The URLs of the resources, in the order of the manifest, each one once.
  private(set) var urls: [URL] = []
  /// The key of each resource.
  private(set) var keys: [CacheKey] = []
  private(set) var duration = Duration.zero
  private var segments: [Segment] = []
  /// What segments use of each resource, each part once.
  private var uses: [[Part]]
  private var stored: [CacheProgress]
  private var fetching: [Int: RangeSet<Int64>] = [:]
  private var failures: [Int: MediaCacheError] = [:]
  /// The resources whose stored amount is unknown, or may have changed.
  private var changed: Set<Int>
  /// The resources of which the running requests are unknown, or may have changed.
  private var changedFetches: Set<Int>

  /// - Parameters:
  ///   - url: the URL of the playlist after redirects.
  ///   - key: returns the key under which a URL is stored.
  init(_ playlist: HLSMediaPlaylist, at url: URL, key: (URL) -> CacheKey) {
    var resources = Resources()
    func parts(of segment: HLSMediaPlaylist.Segment) -> [Part] {
      var parts: [Part] = []
      for key in segment.keys.map({ playlist.keys[$0] }) where key.keyFormat == "identity" {
        if let index = key.uri.flatMap({ resources.index(of: $0, at: url) }) {
          parts.append(Part(resource: index))
        }
      }
      if let map = segment.map.map({ playlist.maps[$0] }),
        let index = resources.index(of: map.uri, at: url)
      {
        parts.append(Part(resource: index, range: map.byteRange))
      }
      if let index = resources.index(of: segment.uri, at: url) {
        parts.append(Part(resource: index, range: segment.byteRange))
      }
      return parts
    }
    let segments = playlist.segments.map { segment in
      (seconds: segment.duration, parts: segment.isGap ? nil : parts(of: segment))
    }
    self.init(segments, of: resources.urls, key: key)
  }

  /// - Parameters:
  ///   - timed: the segments of a Representation (`DASHPresentation.Representation.timedParts`).
  ///   - key: returns the key under which a URL is stored.
  init(_ timed: [StreamPlan.Part], key: (URL) -> CacheKey) {
    var resources = Resources()
    var segments: [(seconds: Double, parts: [Part]?)] = []
    var common: [Part] = []
    var own: [Part] = []
    for part in timed {
      let used = Part(resource: resources.index(of: part.url), range: part.range)
      guard part.seconds > 0 else {
        if segments.isEmpty { common.append(used) } else { own.append(used) }
        continue
      }
      segments.append((part.seconds, common + own + [used]))
      own = []
    }
    self.init(segments, of: resources.urls, key: key)
  }

  private init(
    _ timed: [(seconds: Double, parts: [Part]?)], of urls: [URL], key: (URL) -> CacheKey
  ) {
    var end = 0.0
    for (seconds, parts) in timed {
      let start = Duration.seconds(end)
      end += seconds
      segments.append(Segment(time: start..<Duration.seconds(end), parts: parts))
    }
    duration = .seconds(end)
    self.urls = urls
    self.keys = urls.map(key)
    uses = urls.map { _ in [] }
    var used: Set<Part> = []
    for part in segments.compactMap(\.parts).joined() where used.insert(part).inserted {
      uses[part.resource].append(part)
    }
    stored = urls.map { _ in CacheProgress(length: nil, spans: RangeSet()) }
    changed = Set(urls.indices)
    changedFetches = changed
  }

  /// Numbers resources.
  private struct Resources {
    private(set) var urls: [URL] = []
    private var references: [String: Int?] = [:]
    private var known: [URL: Int] = [:]

    /// Nil if the playlist contains the data itself, or another program brings it.
    mutating func index(of reference: String, at base: URL) -> Int? {
      if let index = references[reference] { return index }
      var index: Int?
      if let url = URL(text: reference, relativeTo: base), WebURL(url.absoluteString) != nil {
        index = self.index(of: url)
      }
      references[reference] = .some(index)
      return index
    }

    mutating func index(of url: URL) -> Int {
      if let index = known[url] { return index }
      urls.append(url)
      known[url] = urls.count - 1
      return urls.count - 1
    }
  }

  // MARK: Recording

  /// Returns the resources to look up, and counts them as looked up.
  mutating func takeChanged() -> [Int] {
    defer { changed = [] }
    return changed.sorted()
  }

  /// Returns the resources whose requests to look up, and counts them as looked up.
  mutating func takeChangedFetches() -> [Int] {
    defer { changedFetches = [] }
    return changedFetches.sorted()
  }

  /// Returns what segments use of resources.
  func parts(of resources: [Int]) -> [Part] { resources.flatMap { uses[$0] } }

  mutating func note(_ progress: CacheProgress, of resource: Int) {
    stored[resource] = progress
    if isStored(Part(resource: resource)) { failures[resource] = nil }
  }

  mutating func noteChange(of resource: Int) { changed.insert(resource) }

  /// Records that a request of a resource began or ended. The range that the event names does not
  /// say what is still being fetched: requests may overlap, or be shortened.
  mutating func noteFetchChange(of resource: Int) { changedFetches.insert(resource) }

  /// Records the ranges of a resource that are being fetched.
  mutating func note(fetching ranges: RangeSet<Int64>, of resource: Int) {
    fetching[resource] = ranges.isEmpty ? nil : ranges
  }

  mutating func note(_ failure: MediaCacheError, of resource: Int) { failures[resource] = failure }

  // MARK: Results

  /// Whether all of it is stored.
  var isComplete: Bool { segments.allSatisfy(isStored) }

  /// The stored times.
  var cachedTimes: RangeSet<Duration> { times(where: isStored) }

  /// The times of segments that are being fetched.
  var fetchingTimes: RangeSet<Duration> {
    guard !fetching.isEmpty else { return RangeSet() }
    return times { segment in segment.parts?.contains(where: isBeingFetched) == true }
  }

  /// Returns the failures of segments that are still to play at a position, in their order.
  func failures(after position: Duration) -> [MediaCacheError] {
    guard !failures.isEmpty else { return [] }
    return segments.compactMap { segment in
      guard segment.time.upperBound > position, !isStored(segment) else { return nil }
      return segment.parts?.lazy.compactMap { failures[$0.resource] }.first
    }
  }

  /// Returns up to `count` resources, evenly spaced.
  func sample(_ count: Int) -> [Int] {
    guard urls.count > count else { return Array(urls.indices) }
    return (0..<count).map { $0 * urls.count / count }
  }

  private func times(where isIncluded: (Segment) -> Bool) -> RangeSet<Duration> {
    // Neighbours are joined first: a set is slow to build from a thousand ranges.
    var joined: [Range<Duration>] = []
    for segment in segments where !segment.time.isEmpty && isIncluded(segment) {
      if let last = joined.last, last.upperBound == segment.time.lowerBound {
        joined[joined.count - 1] = last.lowerBound..<segment.time.upperBound
      } else {
        joined.append(segment.time)
      }
    }
    return RangeSet(joined)
  }

  /// A gap counts as stored: players skip it.
  private func isStored(_ segment: Segment) -> Bool {
    segment.parts?.allSatisfy(isStored) ?? true
  }

  private func isStored(_ part: Part) -> Bool {
    let progress = stored[part.resource]
    guard let range = part.range else { return progress.isComplete }
    return range.isEmpty
      || progress.spans.ranges.contains {
        $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound
      }
  }

  private func isBeingFetched(_ part: Part) -> Bool {
    guard let ranges = fetching[part.resource] else { return false }
    guard let range = part.range else { return true }
    return ranges.ranges.contains { $0.overlaps(range) }
  }
}
