// SPDX-License-Identifier: MIT
import Foundation

/// Live streams: a station sends what it plays now, and another answer begins elsewhere. So one
/// answer is all of a generation: it passes through memory, nothing of it is stored or asked for
/// again, and when it breaks off the generation is over.
extension GenerationState {
  /// The first answer of a live stream has come.
  mutating func beginLive() {
    isLive = true
    ignoresRanges = true
    isTransient = true
    storageBan = .forGood
    storageProblem = .endless
  }

  /// What becomes of the answer of a live stream.
  enum LiveAnswer: Sendable {
    /// It is the generation's one.
    case first
    /// The one is under way, and whoever waits has it to wait for.
    case needless
    /// It belongs to another generation.
    case other
  }

  func liveAnswer(to id: FetchID) -> LiveAnswer {
    guard isLive else { return info == nil ? .first : .other }
    if fetches.contains(where: { $0.key != id && $0.value.isReceiving }) { return .needless }
    return liveEnd == 0 ? .first : .other
  }

  /// The start of the live stream has gone by: who comes now needs an answer of their own.
  var hasPassedStart: Bool { isLive && liveEnd > 0 && !transient.spans.contains(0) }

  /// The offset has gone by, or is further ahead than a demuxer skips: a stream comes as slowly as it
  /// plays, so that waiting for it could take hours.
  func isOutOfReach(_ offset: Int64) -> Bool {
    guard isLive, !transient.spans.contains(offset) else { return false }
    return offset < liveEnd || offset - liveEnd > limits.firstRequest
  }

  /// Whether a further answer could go on where this one broke off. Without ranges it begins at its
  /// first byte. Where neither a length nor a validator says that it is the same, only what is stored
  /// can: every byte of it is compared.
  func canGoOn(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], fetch.isWhole, fetch.position > 0 else { return true }
    if isLive { return false }
    guard isUnrepeatable else { return true }
    return stored.byteCount(in: 0..<fetch.position) == fetch.position
  }

  /// Nothing says how long it is, nothing that it is the same as before, and no part of it can be
  /// asked for: before its end has come, what is stored of it can be neither completed nor confirmed.
  var isUnrepeatable: Bool {
    guard let info else { return false }
    return info.length == nil && !info.supportsRanges && validator.isEmpty
  }

  static let brokeOff = MediaCacheError(
    .resourceChanged, "The live stream broke off.",
    remedy: "Open it again: it starts anew with what is played then.")

  static let outOfReach = MediaCacheError(
    .badRange, "That part of the live stream has gone by, or is far from being played.",
    remedy: "Open it again: it starts anew with what is played then.")
}
