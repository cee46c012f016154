// SPDX-License-Identifier: MIT
import Refrain

/// The breaks of one live stream: ends that its playlist does not state, and failures that may well
/// pass. A pure value.
///
/// The stream is joined again after each of them, until its broadcast proves to be over: joined
/// then, it would play its last segments another time, and never come to an end.
struct LiveBreaks: Sendable {
  enum Kind: Sendable {
    /// The engine has played all segments, and has looked for others.
    case end
    /// The engine gave up, perhaps before the playlists had to change, or the network was lost.
    case failure
  }

  /// A break as an engine reports it.
  struct Break: Sendable {
    var kind: Kind
    /// `StreamFollowing.liveChanges`; nil: the playlists are unknown.
    var changes: Int?
    /// `StreamFollowing.liveTarget`.
    var target: Duration?
    /// `StreamFollowing.liveAnswers`.
    var answers: [Uptime]
    /// The time that the stream has played since it was joined; nil: it was not heard.
    var played: Duration?
    var time: Uptime

    init(
      _ kind: Kind, changes: Int? = nil, target: Duration? = nil, answers: [Uptime] = [],
      played: Duration? = nil, time: Uptime
    ) {
      (self.kind, self.changes, self.target) = (kind, changes, target)
      (self.answers, self.played, self.time) = (answers, played, time)
    }

    /// Whether the stream was heard, and no longer than its last segments may last. An unstable
    /// network also breaks off what has played for longer.
    fileprivate var isShort: Bool {
      played.map { $0 <= (kind == .end ? .seconds(60) : .seconds(30)) } ?? false
    }
  }

  /// The stream's manifest.
  let resource: Resource?
  /// Whether an engine has reported that the stream is live.
  var isLive = false
  /// The changes at the last break.
  private var lastChanges: Int?
  /// The time of the first break with these changes.
  private var unchangedSince: Uptime?
  /// The number of successive short plays whose playlists are unknown.
  private var shortPlays = 0

  private static let mostShortPlays = 3
  /// A playlist that has not changed for three target durations stands still: it has to change
  /// after one and a half (RFC 8216 §6.2.2), and may be as old as half of one.
  private static let mostTargets = 3
  private static let shortestTarget = Duration.seconds(2)

  init(of resource: Resource? = nil) { self.resource = resource }

  /// Returns whether the broadcast may go on, so that the stream is to be joined again.
  func mayGoOn(after latest: Break) -> Bool {
    guard let changes = latest.changes else {
      // A stream that cannot be joined is not heard, which does not show that its broadcast is
      // over: the network may be lost.
      return !latest.isShort || shortPlays < Self.mostShortPlays
    }
    guard changes == lastChanges, let unchangedSince else { return true }
    switch latest.kind {
    case .end: return false
    case .failure:
      // Playlists do not change while the origin cannot be reached, either: it has to have sent or
      // confirmed one so late.
      let limit = max(latest.target ?? .zero, Self.shortestTarget) * Self.mostTargets
      return !latest.answers.contains {
        ($0.seconds(since: unchangedSince) ?? 0) >= limit / .seconds(1)
      }
    }
  }

  /// Records a break after which the stream is joined again.
  mutating func note(_ noted: Break) {
    if let changes = noted.changes {
      if changes != lastChanges { unchangedSince = noted.time }
      (lastChanges, shortPlays) = (changes, 0)
    } else if noted.played != nil {
      shortPlays = noted.isShort ? shortPlays + 1 : 0
    }
  }
}
