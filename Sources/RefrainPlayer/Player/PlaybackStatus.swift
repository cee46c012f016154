// SPDX-License-Identifier: MIT
public import Refrain

/// The status of a player: exactly one of these.
public enum PlaybackStatus: Sendable, Hashable {
  /// Nothing was selected, or playback was stopped.
  case idle
  /// The current item was requested, and is not audible yet.
  case loading
  case playing
  case paused
  /// Playback is wanted, but waits.
  case buffering(WaitingReason)
  /// The queue was played to its end. `resume()` plays items added since, or begins again.
  case ended
  /// The queue cannot continue; the error states why, and what to do. `resume()` tries again.
  case failed(MediaCacheError)
}
