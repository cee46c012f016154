// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import RefrainStreams

/// The playlists of one HLS stream, which of them play, and how much of those is stored. A pure
/// value. Each Representation of a DASH stream counts as a playlist.
///
/// An engine does not report which variant it plays. It is the one of which a segment was opened
/// last; before any was, the one of which most is stored.
struct StreamMap: Sendable {
  struct Playlist: Sendable {
    /// Nil for a Representation, whose segments the manifest describes.
    let url: URL?
    /// Nil while the playlist is not stored, and for live streams.
    var timeline: StreamTimeline?
    /// Whether the origin may still add segments; nil while the playlist is not stored.
    var isLive: Bool?
    /// The stored fraction by a sample, 0…1.
    var share: Double?
    /// Grows with each opening of a segment; 0: none was opened.
    var lastOpening = 0
    /// Whether the stored playlist may be another one than the one read.
    var hasChanged = true
    /// The segments of a live stream, as they were read last.
    var window: StoredPlaylist.Window?
    /// The target duration of a live stream.
    var target: Duration?
    /// When the origin last sent or confirmed these segments of a live stream.
    var answered: Uptime?
    /// The Representation whose segments are ranges of one file, while their index is unread.
    var unindexed: UnindexedFile?
  }

  /// A Representation whose segments are ranges of one file.
  struct UnindexedFile: Sendable {
    let representation: DASHPresentation.Representation
    /// Where the index lies.
    let index: StreamPlan.Part
  }

  /// A part's playlist, and its index there.
  private struct Place {
    var playlist: Int
    var resource: Int
  }

  private(set) var playlists: [Playlist] = []
  private(set) var variants: [PlayingVariant] = []
  /// The variables of the manifest, which the playlists import.
  let variables: [String: String]
  /// The playlists and their parts by their keys.
  private var indices: [CacheKey: [Int]] = [:]
  private var places: [CacheKey: [Place]] = [:]
  private var openings = 0
  private var liveChangeCount = 0
  /// The latest events of other keys: those of a playlist that has not been read yet, perhaps.
  private var unplaced: [(key: CacheKey, event: CacheEvent)] = []
  private let isSoundOnly: Bool

  private static let mostUnplaced = 256
  /// The largest number of variants, and of renditions.
  static let mostChoices = 1000

  /// - Parameters:
  ///   - playlists: their URLs are those at which they are stored; none for what the manifest
  ///     contains itself.
  init(
    _ playlists: [Playlist], _ variants: [PlayingVariant], variables: [String: String] = [:],
    isSoundOnly: Bool, key: (URL) -> CacheKey
  ) {
    (self.playlists, self.variants, self.variables) = (playlists, variants, variables)
    self.isSoundOnly = isSoundOnly
    for (index, playlist) in playlists.enumerated() {
      if let url = playlist.url { indices[key(url), default: []].append(index) }
      place(playlist.timeline, of: index)
    }
  }

  /// Nil if the body is no playlist of HLS, or has too many variants or renditions.
  ///
  /// - Parameters:
  ///   - body: the stream's manifest.
  ///   - base: the URL of the manifest after redirects.
  ///   - isSoundOnly: whether the engine plays no pictures.
  ///   - key: returns the key under which a URL is stored.
  init?(
    _ body: [UInt8], at base: URL, isSoundOnly: Bool, key: (URL) -> CacheKey
  ) {
    let variables: [String: String]
    let variants: [PlayingVariant]
    var known: [URL: Int] = [:]
    var playlists: [Playlist] = []
    func index(_ url: URL) -> Int {
      if let index = known[url] { return index }
      playlists.append(Playlist(url: url))
      known[url] = playlists.count - 1
      return playlists.count - 1
    }
    if let playlist = HLSMultivariantPlaylist(body, url: base) {
      guard max(playlist.variants.count, playlist.renditions.count) <= Self.mostChoices else {
        return nil
      }
      variables = playlist.variables
      var sounds: [String?: [Int?]] = [:]
      variants = playlist.variants.compactMap { variant in
        guard let url = Self.url(variant.uri, base) else { return nil }
        let found =
          sounds[variant.audioGroup]
          ?? playlist.sounds(of: variant).map { rendition in
            rendition.uri.flatMap { Self.url($0, base) }.map(index)
          }
        sounds[variant.audioGroup] = found
        return PlayingVariant(
          playlist: index(url), bandwidth: variant.bandwidth, sounds: found)
      }
    } else if HLSMediaPlaylist(body, url: base) != nil {
      variables = [:]
      variants = [PlayingVariant(playlist: index(base))]
    } else {
      return nil
    }
    self.init(playlists, variants, variables: variables, isSoundOnly: isSoundOnly, key: key)
  }

  private static func url(_ reference: String, _ base: URL) -> URL? {
    URL(text: reference, relativeTo: base).flatMap {
      WebURL($0.absoluteString) == nil ? nil : $0
    }
  }

  // MARK: Recording

  /// Records a stored playlist; nil: none is stored.
  ///
  /// - Parameter answered: when the origin last sent or confirmed it.
  mutating func read(_ index: Int, _ stored: StoredPlaylist?, answered: Uptime? = nil) {
    playlists[index].hasChanged = false
    // A playlist that was evicted may still play.
    guard let stored else { return }
    playlists[index].isLive = stored.timeline == nil
    if playlists[index].window != stored.window { liveChangeCount += 1 }
    (playlists[index].window, playlists[index].target) = (stored.window, stored.target)
    playlists[index].answered = answered
    let old = playlists[index].timeline
    guard old == nil || old?.keys != stored.timeline?.keys else { return }
    replaceTimeline(of: index, by: stored.timeline)
  }

  /// Records the segments of a Representation whose index has been read; nil: it is none, and the
  /// file counts as one segment.
  mutating func read(_ index: Int, indexed timeline: StreamTimeline?) {
    playlists[index].unindexed = nil
    if let timeline { replaceTimeline(of: index, by: timeline) }
  }

  private mutating func replaceTimeline(of index: Int, by timeline: StreamTimeline?) {
    for key in playlists[index].timeline?.keys ?? [] {
      places[key]?.removeAll { $0.playlist == index }
    }
    playlists[index].timeline = timeline
    place(timeline, of: index)
    let waiting = unplaced
    unplaced = []
    for (_, event) in waiting { note(event) }
  }

  private mutating func place(_ timeline: StreamTimeline?, of index: Int) {
    for (resource, key) in (timeline?.keys ?? []).enumerated() {
      places[key, default: []].append(Place(playlist: index, resource: resource))
    }
  }

  /// See `StreamFollowing`.
  mutating func readLiveAgain() {
    for index in playlists.indices where playlists[index].isLive == true {
      playlists[index].hasChanged = true
    }
  }

  mutating func note(_ progress: [CacheProgress], of resources: [Int], in playlist: Int) {
    for (resource, progress) in zip(resources, progress) {
      playlists[playlist].timeline?.note(progress, of: resource)
    }
  }

  mutating func note(fetching ranges: RangeSet<Int64>, of resource: Int, in playlist: Int) {
    playlists[playlist].timeline?.note(fetching: ranges, of: resource)
  }

  mutating func noteShare(_ share: Double, of playlist: Int) { playlists[playlist].share = share }

  /// Returns the resources to look up, of the playlists that play.
  mutating func takeChanged() -> [(playlist: Int, resources: [Int])] {
    playing.compactMap { index in
      guard let resources = playlists[index].timeline?.takeChanged(), !resources.isEmpty else {
        return nil
      }
      return (index, resources)
    }
  }

  /// Returns the resources whose running requests to look up, of the playlists that play.
  mutating func takeChangedFetches() -> [(playlist: Int, resources: [Int])] {
    playing.compactMap { index in
      guard let resources = playlists[index].timeline?.takeChangedFetches(), !resources.isEmpty
      else { return nil }
      return (index, resources)
    }
  }

  /// Records an event of the cache. Returns whether it concerns the stream.
  @discardableResult
  mutating func note(_ event: CacheEvent) -> Bool {
    guard let key = event.streamKey else { return false }
    if let found = indices[key] {
      for index in found {
        if event.changesStored { playlists[index].hasChanged = true }
      }
      // Whether the broadcast goes on is unknown then.
      if case .failed(_, let error) = event, NetworkPatience().bears(error) {
        liveChangeCount += 1
      }
      return event.changesStored
    }
    guard let found = places[key], !found.isEmpty else {
      unplaced.append((key, event))
      if unplaced.count > Self.mostUnplaced { unplaced.removeFirst(Self.mostUnplaced / 2) }
      return false
    }
    if case .opened = event { openings += 1 }
    for place in found { note(event, at: place) }
    return true
  }

  private mutating func note(_ event: CacheEvent, at place: Place) {
    switch event {
    case .opened: playlists[place.playlist].lastOpening = openings
    case .fetchStarted: playlists[place.playlist].timeline?.noteFetchChange(of: place.resource)
    case .fetchFinished:
      playlists[place.playlist].timeline?.noteFetchChange(of: place.resource)
      playlists[place.playlist].timeline?.noteChange(of: place.resource)
    case .failed(_, let error):
      playlists[place.playlist].timeline?.note(error, of: place.resource)
    default: playlists[place.playlist].timeline?.noteChange(of: place.resource)
    }
  }

  // MARK: What plays

  /// The variant that plays; nil if the manifest has none.
  var variant: PlayingVariant? {
    let ranks = variants.map(rank)
    // The first of equal ones.
    return ranks.max().flatMap { ranks.firstIndex(of: $0) }.map { variants[$0] }
  }

  private func rank(_ variant: PlayingVariant) -> PlayingVariant.Rank {
    let own = indicators(of: variant)
    return PlayingVariant.Rank(
      lastOpening: own.map { playlists[$0].lastOpening }.max() ?? 0,
      lastSound: variant.sounds.compactMap { $0.map { playlists[$0].lastOpening } }.max() ?? 0,
      share: own.compactMap { playlists[$0].share }.max() ?? 0,
      // libmpv plays the highest bit rate, AVPlayer begins with the first one.
      bandwidth: isSoundOnly ? variant.bandwidth : 0)
  }

  /// The playlists of a variant that show whether it plays.
  private func indicators(of variant: PlayingVariant) -> [Int] {
    let sounds = isSoundOnly ? variant.sounds.compactMap(\.self) : []
    return sounds.isEmpty ? [variant.playlist] : sounds
  }

  /// The playlists that play.
  var playing: [Int] {
    guard let variant else { return [] }
    let opened = variant.sounds.compactMap(\.self).filter { playlists[$0].lastOpening > 0 }
    let latest = opened.max { playlists[$0].lastOpening < playlists[$1].lastOpening }
    guard let sound = latest ?? variant.sounds.first ?? nil else { return [variant.playlist] }
    return isSoundOnly || sound == variant.playlist ? [sound] : [variant.playlist, sound]
  }

  /// The playlists of which a sample has to show how much is stored, before a segment is opened.
  var unsampled: [Int] {
    let candidates = Set(variants.flatMap(indicators))
    guard candidates.count > 1, candidates.allSatisfy({ playlists[$0].lastOpening == 0 }) else {
      return []
    }
    return candidates.filter { playlists[$0].share == nil && playlists[$0].timeline != nil }
  }

  /// The playlists to read from the cache.
  var unread: [Int] { playlists.indices.filter { playlists[$0].hasChanged } }

  /// The playlists that play whose segments are in an index that has not been read.
  var unindexed: [(index: Int, file: UnindexedFile)] {
    playing.compactMap { index in playlists[index].unindexed.map { (index, $0) } }
  }

  /// See `StreamFollowing`.
  var hasEnded: Bool { playlists.contains { $0.isLive == false } }

  /// See `StreamFollowing`.
  var liveChanges: Int? {
    playlists.contains { $0.isLive == true } ? liveChangeCount : nil
  }

  /// See `StreamFollowing`.
  var liveAnswers: [Uptime] { playlists.compactMap { $0.isLive == true ? $0.answered : nil } }

  /// See `StreamFollowing`.
  var liveTarget: Duration? { playlists.compactMap(\.target).max() }

  // MARK: What is stored

  /// Nil for a live stream, and while a playlist that plays is not stored.
  var progress: StreamProgress? {
    let timelines = playing.compactMap { playlists[$0].timeline }
    guard let first = timelines.first, timelines.count == playing.count, first.duration > .zero
    else { return nil }
    let whole = RangeSet(Duration.zero..<first.duration)
    var cached = whole
    var fetching = RangeSet<Duration>()
    for timeline in timelines {
      fetching.formUnion(timeline.fetchingTimes)
      guard !timeline.isComplete else { continue }
      var times = timeline.cachedTimes
      // Sound and pictures rarely end at the same time.
      if timeline.duration < first.duration {
        times.insert(contentsOf: timeline.duration..<first.duration)
      }
      cached.formIntersection(times)
    }
    fetching.formIntersection(whole)
    fetching.subtract(cached)
    return StreamProgress(
      duration: first.duration, cachedRanges: Array(cached.ranges),
      fetchingRanges: Array(fetching.ranges))
  }

  /// See `StreamFollowing`.
  func permanentFailure(after position: Duration) -> MediaCacheError? {
    let failures = playing.flatMap { playlists[$0].timeline?.failures(after: position) ?? [] }
    let patience = NetworkPatience()
    guard failures.allSatisfy({ $0.status != nil && !patience.bears($0) }) else { return nil }
    return failures.first
  }
}
