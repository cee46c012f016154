// SPDX-License-Identifier: MIT
public import Refrain

/// What a player does: one of these, never two.
public enum PlaybackStatus: Sendable, Hashable {
  /// Nothing was chosen, or everything was stopped.
  case idle
  /// The current item was asked for, and cannot be heard yet.
  case loading
  case playing
  case paused
  /// It should play, and waits.
  case buffering(WaitingReason)
  /// The queue was played to its end. `resume()` begins anew.
  case ended
  /// The queue cannot go on; the error says why, and what to do. `resume()` tries again.
  case failed(MediaCacheError)
}
