// SPDX-License-Identifier: MIT
public import Refrain

/// What happens while a resource plays, in the order in which it happens.
public enum PlaybackEvent: Sendable, Hashable {
  /// The first sound left the player, so long after the resource was loaded.
  case started(after: Duration)
  /// The length in time, as soon as it is known, and again where it turns out differently.
  case duration(Duration)
  /// Where the player is; at most ten times a second.
  case position(Duration)
  /// No sound device could be opened. Playing goes on in real time, without a sound.
  case silent
  /// Played to its end. The last event.
  case ended
  /// Stopped, or replaced by another resource. The last event.
  case stopped
  /// Could not be played, or not further. The last event.
  case failed(MediaCacheError)

  /// Whether nothing comes after this event.
  public var isLast: Bool {
    switch self {
    case .ended, .stopped, .failed: true
    case .started, .duration, .position, .silent: false
    }
  }
}
