// SPDX-License-Identifier: MIT
import Foundation

/// Whether what is known may be given without asking the origin.
extension GenerationState {
  /// How far asking the origin is allowed, or needed, at all.
  struct Asking: Sendable {
    var isOffline = false
    var trustsStored = false

    init(_ configuration: Configuration) {
      isOffline = configuration.offline
      trustsStored = configuration.trustStored
    }
  }

  func isUsable(on terms: FreshnessRequirements, _ asking: Asking, at now: Moment) -> Bool {
    if asking.isOffline { return true }
    // What changes by itself has no bytes that its URL could name for good.
    if asking.trustsStored, freshness?.pace?.isLive != true { return true }
    if let freshness, terms.accept(freshness, at: wallTime(at: now)) { return true }
    return joinsOthers(terms, at: now)
  }

  /// Whether an error of the origin is reported at once: nothing is known yet, and everybody who reads
  /// asks once more by itself.
  var reportsErrors: Bool {
    info == nil && !readers.isEmpty && readers.values.allSatisfy(\.terms.reportsErrors)
  }

  /// The wall clock's time, or more where it was set back since the origin answered: what is stored
  /// gets older by at least the time that passed.
  func wallTime(at now: Moment) -> Date {
    guard let freshness,
      let passed = freshness.confirmedUptime.flatMap({ now.uptime.seconds(since: $0) })
    else { return now.wall }
    return max(now.wall, freshness.confirmedAt + passed)
  }

  /// For so long after an origin's answer a further reader does not ask again.
  private static let joinSeconds: Double = 10

  /// Whether a further reader sees what was seen a moment ago: one play is many readers, often, at
  /// the same time or, where each is a request of its own, one after the other.
  func joinsOthers(_ terms: FreshnessRequirements, at now: Moment) -> Bool {
    guard !terms.noCache, let elapsed = vouchedAt.flatMap({ now.uptime.seconds(since: $0) })
    else { return false }
    guard terms.isStrict else {
      return !readers.isEmpty && elapsed < (unchangedSeconds ?? Self.joinSeconds)
    }
    // What the origin said of its freshness is kept to, and what the request says of it.
    guard freshness?.isGuessed == true, freshness?.isOutdated != true,
      freshness?.mustRevalidate != true, terms.maxAge == nil, terms.minFresh == nil,
      terms.notBefore.map({ $0 < wallTime(at: now) - elapsed }) != false
    else { return false }
    return elapsed < (unchangedSeconds ?? (isReadInPieces ? Self.joinSeconds : 0))
  }

  /// For how long it will not change, as far as can be told; at most the time for which others are
  /// joined. Nil where nothing tells: the origin says neither how long it is fresh nor since when it
  /// is as it is.
  private var unchangedSeconds: Double? {
    let bound = min(freshness?.pace?.longestUse ?? .infinity, Self.joinSeconds)
    guard freshness?.isGuessed == true, validator.lastModified != nil else {
      switch freshness?.pace {
      case nil, .unstated: return nil
      case .unread, .complete, .every: return bound
      }
    }
    // What is `d` seconds old and changes at its own pace is not expected to do so before half of
    // that has passed again. The guessed lifetime is a tenth of it (RFC 9111 §4.2.2).
    return min(bound, (freshness?.lifetime ?? 0) * 5)
  }

  /// Whether a play of it takes several requests, as of audio and video, whose index may lie at the
  /// end. What one request brings is asked for once by each who wants it.
  private var isReadInPieces: Bool {
    guard let info, freshness?.pace == nil else { return false }
    switch info.mimeType {
    case let type? where type.hasPrefix("audio/") || type.hasPrefix("video/"): return true
    case nil, "application/octet-stream", "binary/octet-stream", "application/ogg",
      "application/mp4":
      return (info.length ?? .max) > limits.firstRequest
    default: return false
    }
  }
}
