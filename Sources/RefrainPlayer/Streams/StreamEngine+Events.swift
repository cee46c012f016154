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
      unopened = nil
      current?.position = position
      current?.readyPosition = position
    case .live:
      current?.isLive = true
      breaks.isLive = true
    case .liveWindow(_, var window):
      // Live playback begins three target durations before the end (RFC 8216 §6.3.3).
      if let target = follower?.liveTarget { window.lead = target * 3 }
      report?(.liveWindow(id, window))
      return
    case .position(_, let position), .seekCompleted(_, _, let position):
      current?.position = position
    case .ended where hasBrokenOff(now):
      breaks.note(asBreak(.end, now, played: now.played))
      forget()
      // What follows must not be heard.
      engine.stop()
      report?(.failed(id, MediaCacheError(brokenOff: now.item.media.url)))
      return
    case .ended(_, let next):
      let found = following.flatMap { $0.item.id == next ? $0 : nil }
      forget()
      breaks = LiveBreaks()
      current = found.map {
        Current(item: $0.item, kind: $0.kind, isPaused: now.isPaused)
      }
      report?(event)
      return followStream()
    case .failed(_, let error):
      if lookAgain(now, after: error) { return }
      let reported = errorToReport(error, now)
      if now.kind != nil, !now.isReady { unopened = now.item.media.resource }
      forget()
      report?(.failed(id, reported))
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
      && breaks.mayGoOn(after: asBreak(.end, now, played: now.played))
  }

  private func asBreak(
    _ kind: LiveBreaks.Kind, _ now: Current, played: Duration?
  ) -> LiveBreaks.Break {
    LiveBreaks.Break(
      kind, changes: follower?.liveChanges, target: follower?.liveTarget,
      answers: follower?.liveAnswers ?? [], played: played, time: cache.now.uptime)
  }

  /// Returns the error to report of a failed item. One that may well pass makes the player load the
  /// item again: a live stream that stands still, and a stream of which segments do not exist, fail
  /// for good.
  private func errorToReport(_ error: MediaCacheError, _ now: Current) -> MediaCacheError {
    guard now.kind != nil, NetworkPatience().bears(error) else { return error }
    if breaks.isLive, follower?.hasEnded != true {
      let failure = asBreak(.failure, now, played: now.isReady ? now.played : nil)
      guard breaks.mayGoOn(after: failure) else {
        return MediaCacheError(standingStill: now.item.media.url, error)
      }
      breaks.note(failure)
      follower?.readLiveAgain()
      return error
    }
    // The engine only knows that segments are missing.
    guard now.kind == .hls, let failure = follower?.permanentFailure(after: now.position) else {
      return error
    }
    return MediaCacheError(segmentsMissingIn: now.item.media.url, failure)
  }

  /// Looks at an item in which the other engine found no media. Returns false if there is no reason
  /// to.
  private func lookAgain(_ now: Current, after error: MediaCacheError) -> Bool {
    guard !now.isReady, now.failure == nil, now.item.streamURL == nil,
      error.code == .invalidResponse, error.status == nil
    else { return false }
    let resource = now.item.media.resource
    // A file is no stream.
    guard resource != nil || readList != nil else { return false }
    forgetFollowing()
    current?.failure = error
    if let resource {
      let isRetried = unopened == resource
      lookUpCurrent { [streams, cache] in
        guard let streams else { return await StreamKind(stored: resource, in: cache) }
        return try await streams.storedKind(of: resource, in: cache, isRetried: isRetried)
      }
    } else {
      readCurrentAsList(after: error)
    }
    return true
  }
}
