// SPDX-License-Identifier: MIT
import Refrain

/// Passes commands to another engine, and provides the URL of each item that is a stream
/// (`EngineItem.streamURL`).
///
/// An item whose URL has a manifest's extension is looked up before the other engine receives it;
/// meanwhile, the latest seek and pause are kept. Any other item is passed on at once, and looked
/// up only if the engine finds no media in it; it may also be a list of media then (`readList`).
@MainActor
final class StreamEngine: PlayerEngine {
  var report: (@MainActor (EngineEvent) -> Void)?
  /// Receives how much of the current item is stored, if that is an HLS stream.
  var reportProgress: (@MainActor (StreamProgress?) -> Void)?
  /// See `Player.Configuration.readList`.
  var readList: ReadList?
  /// Receives the media that the current item lists, and why the other engine could not play it. The
  /// item is forgotten then.
  var reportList: (@MainActor (EngineItem.ID, [Media], MediaCacheError) -> Void)?

  let engine: any PlayerEngine
  let cache: MediaCache
  let streams: (any StreamSupport)?
  var current: Current?
  /// The item to follow the current one, as requested.
  private var wish: EngineItem?
  /// The same, as the other engine has received it; nil while it is looked up.
  private(set) var following: FollowingItem?
  private var followingLookup: Task<Void, Never>?
  /// Follows the stream that was loaded last, also while it is loaded again.
  private(set) var follower: (any StreamFollowing)?
  /// Those of the stream that was loaded last.
  var breaks = LiveBreaks()
  /// The stream that the other engine could not open a moment ago.
  var unopened: Resource?

  /// An item as the other engine receives it.
  struct FollowingItem {
    var item: EngineItem
    /// Nil: the item is no stream, or its URL is the engine's own affair.
    var kind: StreamKind?
  }

  /// The item that was loaded last, or has followed it since.
  struct Current {
    var item: EngineItem
    var kind: StreamKind?
    var start = Duration.zero
    var isPaused: Bool
    /// The latest seek before the item was ready.
    var seek: (position: Duration, serial: Int)?
    /// The latest known position.
    var position = Duration.zero
    var readyPosition = Duration.zero
    var hasBegun = false
    var isReady = false
    var isLive = false
    /// The other engine's failure with the item, because of which it is looked up.
    var failure: MediaCacheError?
    /// The item's lookup, until which the other engine does not have it.
    var lookup: Task<Void, Never>?

    /// The time played since the item was ready.
    var played: Duration { position - readyPosition }
  }

  /// - Parameters:
  ///   - engine: owned by this one from now on.
  ///   - streams: see `Player.Configuration.streams`.
  init(_ engine: any PlayerEngine, cache: MediaCache, streams: (any StreamSupport)?) {
    self.engine = engine
    self.cache = cache
    self.streams = streams
    engine.report = { [weak self] in self?.take($0) }
  }

  /// Whether the current item's bytes are those of its resource: false for a stream, whose bytes
  /// are in its segments, and until that is known.
  var hasOwnBytes: Bool { current.map { $0.lookup == nil && $0.item.streamURL == nil } ?? false }

  /// The variant of a stream that the engine selects.
  var preferredVariant: PreferredVariant {
    if isSoundOnly { return .soundOfHighest }
    if (engine as? any LimitedEngine)?.playsHighestVariant == true { return .near(.max) }
    return current?.kind == .hls ? follower?.bandwidth.map { .near($0) } ?? .first : .first
  }

  private var isSoundOnly: Bool { (engine as? any LimitedEngine)?.isSoundOnly ?? false }

  // MARK: Items

  func load(_ item: EngineItem, at start: Duration, isPaused: Bool) {
    forget()
    current = Current(item: item, start: start, isPaused: isPaused, position: start)
    guard let (streams, resource) = lookup(of: item) else { return passCurrent() }
    // The previous item is over.
    engine.follow(with: nil)
    engine.pause()
    let isRetried = unopened == resource
    lookUpCurrent { [cache] in
      try await streams.kind(of: resource, in: cache, isRetried: isRetried)
    }
  }

  func follow(with item: EngineItem?) {
    wish = item
    if current?.lookup == nil { passFollowing() }
  }

  func stop() {
    forget()
    (follower, breaks) = (nil, LiveBreaks())
    engine.stop()
  }

  func close() async {
    forget()
    follower = nil
    await engine.close()
  }

  func forget() {
    current?.lookup?.cancel()
    current = nil
    wish = nil
    forgetFollowing()
  }

  func forgetFollowing() {
    followingLookup?.cancel()
    (following, followingLookup) = (nil, nil)
  }

  // MARK: Playing

  func play() {
    current?.isPaused = false
    if current?.lookup == nil { engine.play() }
  }

  func pause() {
    current?.isPaused = true
    if current?.lookup == nil { engine.pause() }
  }

  func seek(to position: Duration, serial: Int) {
    current?.position = position
    if current?.isReady == false { current?.seek = (position, serial) }
    if current?.lookup == nil { engine.seek(to: position, serial: serial) }
  }

  func setRate(_ rate: Double) { engine.setRate(rate) }

  func prefer(_ languages: TrackLanguages) { engine.prefer(languages) }

  func setVolume(_ volume: Double, isMuted: Bool) { engine.setVolume(volume, isMuted: isMuted) }

  func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {
    if current?.lookup == nil { engine.select(track, of: kind) }
  }

  func setShowsVideo(_ showsVideo: Bool) { engine.setShowsVideo(showsVideo) }

  func toggleFullscreen() { engine.toggleFullscreen() }

  func setFullscreen(_ isFullscreen: Bool) { engine.setFullscreen(isFullscreen) }

  var capabilities: PlayerCapabilities { engine.capabilities }

  func statistics(of item: EngineItem.ID) -> MediaReader.Statistics? {
    engine.statistics(of: item)
  }

  // MARK: Lookups

  /// Returns what looks an item up before it plays, and its resource; nil: it is not looked up.
  private func lookup(of item: EngineItem) -> (any StreamSupport, Resource)? {
    guard let streams, item.streamURL == nil, item.media.isNamedStream,
      let resource = item.media.resource
    else { return nil }
    return (streams, resource)
  }

  private func refusal(of kind: StreamKind, _ item: EngineItem) -> MediaCacheError? {
    (engine as? any LimitedEngine)?.refusal(of: kind, at: item.media.url)
  }

  func lookUpCurrent(_ find: @escaping @Sendable () async throws -> StreamKind?) {
    guard let item = current?.item, let resource = item.media.resource else { return }
    current?.lookup = Task { [weak self] in
      let result: Result<(StreamKind, EngineItem?)?, any Error>
      do {
        let kind = try await find()
        if let kind {
          result = .success((kind, try await self?.locate(item, resource, of: kind)))
        } else {
          result = .success(nil)
        }
      } catch {
        result = .failure(error)
      }
      guard !Task.isCancelled else { return }
      self?.finishLookup(of: item, result)
    }
  }

  /// Returns an item with the URL from which it plays; nil if streams do not come through the cache.
  private func locate(
    _ item: EngineItem, _ resource: Resource, of kind: StreamKind
  ) async throws -> EngineItem? {
    var item = item
    guard let url = try await streams?.url(for: resource) else { return nil }
    item.streamURL = url
    return item
  }

  private func finishLookup(
    of item: EngineItem, _ result: Result<(StreamKind, EngineItem?)?, any Error>
  ) {
    current?.lookup = nil
    if case .success((let kind, _)?) = result, let refusal = refusal(of: kind, item) {
      return failCurrent(refusal)
    }
    switch result {
    case .success((let kind, let located?)?):
      current?.item = located
      current?.kind = kind
      passCurrent()
    case .success((let kind, nil)?):
      failCurrent(MediaCacheError(noURLFor: kind, at: item.media.url))
    case .success(nil):
      if let failure = current?.failure {
        readCurrentAsList(after: failure)
      } else {
        passCurrent()
      }
    case .failure(let error): failCurrent(MediaCacheError(lookingUp: item.media.url, error))
    }
  }

  private func passCurrent() {
    guard let current else { return }
    engine.load(current.item.askingForTitles, at: current.start, isPaused: current.isPaused)
    if let seek = current.seek { engine.seek(to: seek.position, serial: seek.serial) }
    followStream()
    if wish != nil { passFollowing() }
  }

  private func passFollowing() {
    forgetFollowing()
    guard let item = wish, let (streams, resource) = lookup(of: item) else {
      following = wish.map { FollowingItem(item: $0) }
      return engine.follow(with: wish?.askingForTitles)
    }
    engine.follow(with: nil)
    followingLookup = Task { [weak self, cache] in
      var found = FollowingItem(item: item)
      do {
        if let kind = try await streams.kind(of: resource, in: cache, isRetried: false) {
          found.item = try await self?.locate(item, resource, of: kind) ?? item
          found.kind = kind
        }
      } catch {
        // Reported when the item is to play.
        return
      }
      guard let self, !Task.isCancelled else { return }
      // Reported when the item is to play, too.
      if let kind = found.kind, refusal(of: kind, item) != nil { return }
      following = found
      engine.follow(with: found.item.askingForTitles)
    }
  }

  func failCurrent(_ error: MediaCacheError) {
    guard let failed = current else { return }
    forget()
    // The previous item is still loaded, and paused.
    if failed.failure == nil { engine.stop() }
    if !failed.hasBegun { report?(.began(failed.item.id)) }
    report?(.failed(failed.item.id, error))
  }

  // MARK: Following

  /// Follows how much of the current item is stored, if that is a stream. A stream that is
  /// loaded again keeps its follower, which knows what failed before.
  func followStream() {
    let playing = current?.item.media.resource
    if breaks.resource != playing { breaks = LiveBreaks(of: playing) }
    guard let current, current.kind != nil, let resource = current.item.media.resource else {
      return follower = nil
    }
    if follower?.resource != resource {
      follower = streams?.follow(resource, in: cache, isSoundOnly: isSoundOnly) {
        [weak self] progress in
        guard let self, let now = self.current, now.kind != nil,
          now.item.media.resource == resource
        else { return }
        reportProgress?(progress)
      }
    }
    if let progress = follower?.progress { reportProgress?(progress) }
  }
}
