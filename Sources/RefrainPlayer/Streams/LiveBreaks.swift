// SPDX-License-Identifier: MIT
import Refrain

/// The breaks of one live stream: ends that its playlist does not state. A pure value.
///
/// The stream is joined again after each of them, until its broadcast proves to be over: joined
/// then, it would play its last segments another time.
struct LiveBreaks: Sendable {
  /// The stream's manifest.
  let resource: Resource?
  /// `StreamMap.liveChanges` at the last break.
  private var lastChanges: Int?
  /// The number of successive short plays whose playlists are unknown.
  private var shortPlays = 0

  private static let mostShortPlays = 3
  /// More than the last segments of a stream last.
  private static let longPlay = Duration.seconds(60)

  init(of resource: Resource? = nil) { self.resource = resource }

  /// Returns whether the broadcast may go on, so that the stream is to be joined again.
  ///
  /// - Parameters:
  ///   - changes: `StreamMap.liveChanges`; nil: the playlists are unknown.
  ///   - played: the time that the stream has played since it was joined.
  func mayGoOn(changes: Int?, played: Duration) -> Bool {
    if let changes { return changes != lastChanges }
    return played > Self.longPlay || shortPlays < Self.mostShortPlays
  }

  /// Records a break after which the stream is joined again.
  mutating func note(changes: Int?, played: Duration) {
    if let changes {
      (lastChanges, shortPlays) = (changes, 0)
    } else {
      shortPlays = played > Self.longPlay ? 0 : shortPlays + 1
    }
  }
}
