// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Passes commands to another engine, and provides the URL of each item that is a stream
/// (`EngineItem.streamURL`).
///
/// An item whose URL has a manifest's extension is looked up before the other engine receives it;
/// meanwhile, the latest seek and pause are kept. Any other item is passed on at once, and looked
/// up only if the engine finds no media in it.
@MainActor
final class StreamEngine: PlayerEngine {
  typealias StreamURL = @Sendable (Resource) async throws -> URL

  var report: (@MainActor (EngineEvent) -> Void)?

  private let engine: any PlayerEngine
  private let lookup: StreamLookup
  private let streamURL: StreamURL?
  private var current: Current?
  /// The item to follow the current one, as requested.
  private var wish: EngineItem?
  /// The same, as the other engine has received it; nil while it is looked up.
  private var following: EngineItem?
  private var followingLookup: Task<Void, Never>?

  /// The item that was loaded last, or has followed it since.
  private struct Current {
    var item: EngineItem
    var start = Duration.zero
    var isPaused: Bool
    /// The latest seek before the item was ready.
    var seek: (position: Duration, serial: Int)?
    var hasBegun = false
    var isReady = false
    /// The other engine's failure with the item, because of which it is looked up.
    var failure: MediaCacheError?
    /// The item's lookup, until which the other engine does not have it.
    var lookup: Task<Void, Never>?
  }

  /// - Parameters:
  ///   - engine: owned by this one from now on.
  ///   - streamURL: see `Player.Configuration.streamURL`.
  init(_ engine: any PlayerEngine, cache: MediaCache, streamURL: StreamURL?) {
    self.engine = engine
    lookup = StreamLookup(cache: cache)
    self.streamURL = streamURL
    engine.report = { [weak self] in self?.take($0) }
  }

  /// Whether the current item's bytes are those of its resource: false for a stream, whose bytes
  /// are in its segments, and until that is known.
  var hasOwnBytes: Bool { current.map { $0.lookup == nil && $0.item.streamURL == nil } ?? false }

  // MARK: Items

  func load(_ item: EngineItem, at start: Duration, isPaused: Bool) {
    forget()
    current = Current(item: item, start: start, isPaused: isPaused)
    guard let resource = resourceToLookUp(item) else { return passCurrent() }
    // The previous item is over.
    engine.follow(with: nil)
    engine.pause()
    lookUpCurrent { [lookup] in try await lookup.kind(of: resource) }
  }

  func follow(with item: EngineItem?) {
    wish = item
    if current?.lookup == nil { passFollowing() }
  }

  func stop() {
    forget()
    engine.stop()
  }

  func close() async {
    forget()
    await engine.close()
  }

  private func forget() {
    current?.lookup?.cancel()
    current = nil
    wish = nil
    forgetFollowing()
  }

  private func forgetFollowing() {
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
    if current?.isReady == false { current?.seek = (position, serial) }
    if current?.lookup == nil { engine.seek(to: position, serial: serial) }
  }

  func setRate(_ rate: Double) { engine.setRate(rate) }

  func setVolume(_ volume: Double, isMuted: Bool) { engine.setVolume(volume, isMuted: isMuted) }

  func statistics(of item: EngineItem.ID) -> MediaReader.Statistics? {
    engine.statistics(of: item)
  }

  // MARK: Lookups

  /// Returns the resource of an item to look up before it plays; nil: none.
  private func resourceToLookUp(_ item: EngineItem) -> Resource? {
    guard streamURL != nil, item.streamURL == nil, StreamLookup.isNamed(item.media) else {
      return nil
    }
    return item.media.resource
  }

  private func lookUpCurrent(_ find: @escaping @Sendable () async throws -> StreamKind?) {
    guard let item = current?.item, let resource = item.media.resource else { return }
    current?.lookup = Task { [weak self, streamURL] in
      let result: Result<(StreamKind, URL?)?, any Error>
      do {
        let kind = try await find()
        let url = kind == nil ? nil : try await streamURL?(resource)
        result = .success(kind.map { ($0, url) })
      } catch {
        result = .failure(error)
      }
      guard !Task.isCancelled else { return }
      self?.finishLookup(of: item, result)
    }
  }

  private func finishLookup(
    of item: EngineItem, _ result: Result<(StreamKind, URL?)?, any Error>
  ) {
    current?.lookup = nil
    switch result {
    case .success((_, let url?)?):
      current?.item.streamURL = url
      passCurrent()
    case .success((let kind, nil)?):
      failCurrent(MediaCacheError(noURLFor: kind, at: item.media.url))
    case .success(nil):
      if let failure = current?.failure { failCurrent(failure) } else { passCurrent() }
    case .failure(let error): failCurrent(MediaCacheError(lookingUp: item.media.url, error))
    }
  }

  private func passCurrent() {
    guard let current else { return }
    engine.load(current.item.askingForTitles, at: current.start, isPaused: current.isPaused)
    if let seek = current.seek { engine.seek(to: seek.position, serial: seek.serial) }
    if wish != nil { passFollowing() }
  }

  private func passFollowing() {
    forgetFollowing()
    guard let item = wish, let resource = resourceToLookUp(item) else {
      following = wish
      return engine.follow(with: wish?.askingForTitles)
    }
    engine.follow(with: nil)
    followingLookup = Task { [weak self, lookup, streamURL] in
      var found = item
      do {
        if try await lookup.kind(of: resource) != nil {
          found.streamURL = try await streamURL?(resource)
        }
      } catch {
        // Reported when the item is to play.
        return
      }
      guard let self, !Task.isCancelled else { return }
      following = found
      engine.follow(with: found.askingForTitles)
    }
  }

  private func failCurrent(_ error: MediaCacheError) {
    guard let failed = current else { return }
    forget()
    // The previous item is still loaded, and paused.
    if failed.failure == nil { engine.stop() }
    if !failed.hasBegun { report?(.began(failed.item.id)) }
    report?(.failed(failed.item.id, error))
  }

  // MARK: Events

  private func take(_ event: EngineEvent) {
    guard let id = event.item else {
      if case .pausedBySystem(true) = event { current?.isPaused = true }
      report?(event)
      return
    }
    guard let now = current, id == now.item.id, now.lookup == nil else { return }
    switch event {
    case .began:
      guard !now.hasBegun else { return }
      current?.hasBegun = true
    case .ready: current?.isReady = true
    case .ended(_, let next):
      let follower = following.flatMap { $0.id == next ? $0 : nil }
      forget()
      current = follower.map { Current(item: $0, isPaused: now.isPaused) }
    case .failed(_, let error):
      if lookAgain(now, after: error) { return }
      forget()
    default: break
    }
    report?(event)
  }

  /// Looks at an item in which the other engine found no media. Returns false if there is no reason
  /// to.
  private func lookAgain(_ now: Current, after error: MediaCacheError) -> Bool {
    guard !now.isReady, now.failure == nil, now.item.streamURL == nil,
      error.code == .invalidResponse, error.status == nil, let resource = now.item.media.resource
    else { return false }
    forgetFollowing()
    current?.failure = error
    lookUpCurrent { [lookup] in await lookup.storedKind(of: resource) }
    return true
  }
}

extension MediaCacheError {
  /// The error of a stream for which the player has no URL.
  fileprivate init(noURLFor kind: StreamKind, at url: URL) {
    self.init(
      .invalidResponse,
      "\(url.withoutUserInfo.absoluteString) is \(kind.name), and the player has no proxy for it.",
      remedy: "Set Player.Configuration.streamURL, for example to CacheProxy of RefrainProxy.")
  }

  /// Wraps the error of a lookup.
  fileprivate init(lookingUp url: URL, _ error: any Error) {
    self =
      error as? MediaCacheError
      ?? MediaCacheError(
        .storage, "The player has no URL for \(url.withoutUserInfo.absoluteString): \(error)",
        remedy: "Check the local proxy.")
  }
}
