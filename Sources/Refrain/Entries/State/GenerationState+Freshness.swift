// SPDX-License-Identifier: MIT
import Foundation

/// Whether a stored response may be used without asking the origin, and what its answer changes.
extension GenerationState {
  func isUsable(on terms: ReadTerms, at now: Moment) -> Bool {
    if isOffline { return true }
    // If the response that is this generation ended before all of it had come, what is stored serves
    // the readers in the middle, and nobody else while the origin can be asked.
    if isOneResponse, !isComplete, fetches.values.allSatisfy(\.isConfirmation) { return false }
    // The URL of a resource that changes by itself does not identify its bytes, and neither does one
    // whose response was found to be outdated.
    if trustsStored, freshness?.pace?.isLive != true, freshness?.isOutdated != true,
      freshness.map(terms.isReplaced) != true
    {
      return true
    }
    // An origin that forbids to store the response decides on each use.
    if let freshness, !(freshness.noStore && storage.ignoresNoStore),
      terms.accept(freshness, at: wallTime(at: now))
    {
      return true
    }
    return joinsOthers(terms, at: now)
  }

  /// Returns the wall-clock time, or a later one if the clock was set back since the origin
  /// responded: a stored response ages by at least the time that passed.
  func wallTime(at now: Moment) -> Date {
    guard let freshness,
      let passed = freshness.confirmedUptime.flatMap({ now.uptime.seconds(since: $0) })
    else { return now.wall }
    return max(now.wall, freshness.confirmedAt + passed)
  }

  /// The time after an origin's response during which a further reader does not ask again.
  static let joinSeconds: Double = 10

  /// Whether a further reader joins the response of a moment ago: one play is often many readers,
  /// at the same time or, if each is a separate request, one after the other.
  private func joinsOthers(_ terms: ReadTerms, at now: Moment) -> Bool {
    guard !terms.directives.noCache,
      let elapsed = representation.lastContact.flatMap({ now.uptime.seconds(since: $0.time) })
    else { return false }
    // Bytes that served another reader while the origin could not be asked may be too old now.
    if representation.lastContact?.isReached == false,
      !terms.acceptUnconfirmed(freshness, at: wallTime(at: now))
    {
      return false
    }
    let vouched = wallTime(at: now) - elapsed
    // Computed times are precise to a millisecond.
    if let listing = terms.listing, vouched + 0.001 < listing.time { return false }
    // Another response would end the one that arrives, and its readers.
    let isArriving = fetches.values.contains(where: isKeptToEnd)
    guard terms.audience == .client else {
      return isArriving
        || (isOneResponse || !readers.isEmpty) && elapsed < (unchangedSeconds ?? Self.joinSeconds)
    }
    // The freshness stated by the origin applies, and so do the directives of the request.
    guard freshness?.isGuessed == true, freshness?.isOutdated != true,
      freshness?.mustRevalidate != true, terms.directives.maxAge == nil,
      terms.directives.minFresh == nil,
      terms.notBefore.map({ $0 < vouched }) != false
    else { return false }
    return isArriving || elapsed < (unchangedSeconds ?? (isReadInPieces ? Self.joinSeconds : 0))
  }

  /// The expected time without a change, at most `joinSeconds`; nil if neither a document's pace
  /// nor a guessed lifetime with a Last-Modified gives one.
  private var unchangedSeconds: Double? {
    let bound = min(freshness?.pace?.longestUse ?? .infinity, Self.joinSeconds)
    guard freshness?.isGuessed == true, validator.lastModified != nil else {
      return freshness?.pace == nil || freshness?.pace == .unstated ? nil : bound
    }
    // A resource that is `d` seconds old is not expected to change before another half of `d` has
    // passed. The guessed lifetime is a tenth of `d` (RFC 9111 §4.2.2).
    return min(bound, (freshness?.lifetime ?? 0) * 5)
  }

  /// Whether a play takes several requests, as with audio and video, whose index may lie at the
  /// end. A resource that one request brings is asked for once by each client.
  var isReadInPieces: Bool {
    guard let info, freshness?.pace == nil else { return false }
    switch info.mimeType {
    case let type? where type.hasPrefix("audio/") || type.hasPrefix("video/"): return true
    case nil, "application/octet-stream", "binary/octet-stream", "application/ogg",
      "application/mp4":
      return (info.length ?? .max) > limits.firstRequest
    default: return false
    }
  }

  // MARK: The origin's answer

  /// Records that the origin has confirmed the generation.
  ///
  /// - Parameter error: why it could not be asked: readers that accept stale bytes continue.
  mutating func confirmed(at now: Moment, unless error: MediaCacheError? = nil) {
    representation.lastContact = (now.uptime, error == nil)
    let continuing = readers.all.filter {
      error == nil || !$0.value.awaitsConfirmation || playsStale($0.value, at: now)
    }
    if let error { wake(readers.waits.filter { continuing[$0.readerID] == nil }, with: error) }
    for id in continuing.keys { readers[id]?.awaitsConfirmation = false }
    // All readers look again: their bytes may have been there all along.
    wakeServed()
    plan()
  }

  /// Whether the confirmation is awaited for a few seconds only: a reader that waits for it plays
  /// without it then, or the next version of a live document would come too late.
  func confirmsBriefly(at now: Moment) -> Bool {
    freshness?.pace?.isLive == true
      || readers.values.contains { $0.awaitsConfirmation && playsStale($0, at: now) }
  }

  private func playsStale(_ reader: Reader, at now: Moment) -> Bool {
    reader.terms.acceptUnconfirmed(freshness, at: wallTime(at: now))
  }
}
