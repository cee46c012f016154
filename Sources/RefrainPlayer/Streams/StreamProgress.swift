// SPDX-License-Identifier: MIT

/// How much of a stream is stored at one moment, in time: the sums of the durations of segments.
public struct StreamProgress: Sendable, Hashable {
  /// The duration that the stream's playlist states.
  public var duration: Duration
  /// The times that play without the network, in order: the segments are stored completely, with
  /// their initializations and keys, in every playlist that plays (usually one with pictures and
  /// one with sound).
  public var cachedRanges: [Range<Duration>]
  /// The times whose segments are being fetched, in order.
  public var fetchingRanges: [Range<Duration>]

  public init(
    duration: Duration, cachedRanges: [Range<Duration>] = [],
    fetchingRanges: [Range<Duration>] = []
  ) {
    self.duration = duration
    self.cachedRanges = cachedRanges
    self.fetchingRanges = fetchingRanges
  }

  /// The stored time.
  public var cachedDuration: Duration {
    cachedRanges.reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) }
  }

  public var isComplete: Bool { cachedDuration >= duration }

  /// The stored fraction, from 0 (nothing) to 1 (all).
  public var fraction: Double {
    duration > .zero ? min(1, cachedDuration / duration) : 0
  }
}
