// SPDX-License-Identifier: MIT
import Refrain

/// The other engine's events.
extension StreamEngine {
  func take(_ event: EngineEvent) {
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
    case .ready(_, let position):
      current?.isReady = true
      current?.position = position
      current?.readyPosition = position
    case .live: current?.isLive = true
    case .position(_, let position), .seekCompleted(_, _, let position):
      current?.position = position
    case .ended where hasBrokenOff(now):
      breaks.note(changes: follower?.liveChanges, played: now.played)
      forget()
      // What follows must not be heard.
      engine.stop()
      report?(.failed(id, MediaCacheError(brokenOff: now.item.media.url)))
      return
    case .ended(_, let next):
      let found = following.flatMap { $0.item.id == next ? $0 : nil }
      forget()
      breaks = LiveBreaks()
      current = found.map { Current(item: $0.item, kind: $0.kind, isPaused: now.isPaused) }
      report?(event)
      return followStream()
    case .failed(_, let error):
      if lookAgain(now, after: error) { return }
      forget()
      report?(.failed(id, reason(of: error, in: now)))
      return
    default: break
    }
    report?(event)
  }

  /// Whether a live stream that has come to an end may still be on the air. An engine reports the
  /// end once its buffer is empty, also if the playlist could not be loaded again. Loaded again, a
  /// stream that has ended has a duration.
  private func hasBrokenOff(_ now: Current) -> Bool {
    now.kind != nil && now.isLive && follower?.hasEnded != true
      && breaks.mayGoOn(changes: follower?.liveChanges, played: now.played)
  }

  /// Returns the reason of an interruption: the engine only knows that segments are missing.
  private func reason(of error: MediaCacheError, in now: Current) -> MediaCacheError {
    guard now.kind == .hls, NetworkPatience().bears(error),
      let failure = follower?.permanentFailure(after: now.position)
    else { return error }
    return MediaCacheError(segmentsMissingIn: now.item.media.url, failure)
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
