// SPDX-License-Identifier: MIT

/// How soon an origin may change a resource, by its own bytes: the manifest of an ongoing stream
/// changes every few seconds. Stored with the freshness of its response.
package enum UpdatePace: Codable, Sendable, Hashable {
  /// A manifest whose bytes have not all arrived: at any moment. While they arrive, another request
  /// would bring no newer ones.
  case unread
  /// The resource is complete, and does not change any more.
  case complete
  /// The resource does not say.
  case unstated
  /// Every so many seconds.
  case every(Double)

  /// The longest use without asking the origin, in seconds: half of the time between two changes
  /// (RFC 8216 §6.3.4).
  var longestUse: Double {
    switch self {
    case .unread: Self.arrival
    case .complete, .unstated: .infinity
    case .every(let seconds): seconds / 2
    }
  }

  /// How long the bytes of a manifest take to arrive, in seconds.
  private static let arrival = 0.5

  /// The greatest useful age while the origin is unavailable, in seconds. A player that receives an
  /// older manifest assumes that the stream has ended.
  var longestUnconfirmedUse: Double {
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
