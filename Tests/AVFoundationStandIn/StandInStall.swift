// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  /// The reports of a player that ran out of bytes. Apple documents neither an order of these
  /// reports nor that each of them comes.
  package struct StandInStall: Sendable, Hashable {
    package enum Report: Sendable, Hashable, CaseIterable {
      /// `rate` is 0, and `timeControlStatus` is paused.
      case rate
      /// `isPlaybackBufferEmpty` is true.
      case buffer
      /// `playbackStalledNotification`, on a thread that is not the main one.
      case notice
    }

    package var order: [Report]
    /// The time before each of them.
    package var gap: Duration

    package init(_ order: [Report], gap: Duration = .milliseconds(3)) {
      self.order = order
      self.gap = gap
    }
  }
#endif
