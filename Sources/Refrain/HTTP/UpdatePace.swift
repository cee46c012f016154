// SPDX-License-Identifier: MIT

/// How soon an origin may change a document, by its own bytes (`DocumentRules`). Stored with the
/// freshness of its response.
public enum UpdatePace: Codable, Sendable, Hashable {
  /// The bytes of the document have not all arrived: at any moment. While they arrive, another
  /// request would bring no newer ones.
  case unread
  /// The document is complete, and does not change any more.
  case complete
  /// The document does not say.
  case unstated
  /// Every so many seconds.
  case every(Double)

  /// The longest use without asking the origin, in seconds: half of the time between two changes.
  var longestUse: Double {
    switch self {
    case .unread: Self.arrival
    case .complete, .unstated: .infinity
    case .every(let seconds): seconds / 2
    }
  }

  /// How long the bytes of a document take to arrive, in seconds.
  private static let arrival = 0.5

  /// The greatest useful age while the origin is unavailable, in seconds. A player that receives an
  /// older document assumes that nothing follows.
  package var longestUnconfirmedUse: Double {
    if case .every(let seconds) = self { return 1.5 * seconds }
    return .infinity
  }

  /// Whether the pace replaces a guessed lifetime.
  var isKnownToChange: Bool {
    switch self {
    case .unread, .every: true
    case .complete, .unstated: false
    }
  }

  /// Whether the origin changes the resource by itself, so that its URL never names fixed bytes.
  package var isLive: Bool {
    if case .every = self { return true }
    return false
  }
}
