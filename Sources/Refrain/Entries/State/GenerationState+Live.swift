// SPDX-License-Identifier: MIT
import Foundation

/// Live streams: a station sends what it plays now, and another response begins elsewhere. So one
/// response is all of a generation: it passes through memory, no part of it is stored or requested
/// again, and the generation ends when the response breaks off.
extension GenerationState {
  /// Whether the resource is a live stream.
  var isLive: Bool { liveEnd != nil }

  /// The end of the bytes received of a live stream; nil if it is none.
  var liveEnd: Int64? { if case .live(let end) = delivery { end } else { nil } }

  /// Marks the generation as a live stream on its first response.
  mutating func beginLive() {
    delivery = .live(end: 0)
    noteIgnoredRange()
    storage.refuse(.endless)
  }

  /// The use of a live stream's response.
  enum LiveAnswer: Sendable {
    /// The response becomes the only one of the generation.
    case first
    /// Another response is arriving already, and readers wait for that one.
    case needless
    /// The response belongs to another generation.
    case other
  }

  func liveAnswer(to id: FetchID) -> LiveAnswer {
    guard let liveEnd else { return info == nil ? .first : .other }
    if fetches.contains(where: { $0.key != id && $0.value.isReceivingWhole }) { return .needless }
    return liveEnd == 0 ? .first : .other
  }

  /// Whether the start of the live stream has passed, or nothing follows it any more: a new reader
  /// needs a response of its own.
  var hasPassedStart: Bool {
    (liveEnd ?? 0) > 0 && (!transient.spans.contains(0) || fetches.isEmpty)
  }

  /// Whether the offset has passed, or is further ahead than a demuxer skips: a stream arrives as
  /// slowly as it plays, so waiting for it could take hours.
  func isOutOfReach(_ offset: Int64) -> Bool {
    guard let liveEnd, !transient.spans.contains(offset) else { return false }
    return offset < liveEnd || offset - liveEnd > limits.firstRequest
  }

  /// Whether a further response could continue where this one broke off. Without ranges it starts
  /// at its first byte. If neither a length nor a validator confirms that it is the same, it can
  /// only continue if all bytes so far are stored: then they are compared.
  func canGoOn(_ id: FetchID) -> Bool {
    if handed != nil { return false }
    guard let fetch = fetches[id], fetch.isWhole, fetch.position > 0 else { return true }
    if isLive { return false }
    guard isUnrepeatable else { return true }
    return stored.byteCount(in: 0..<fetch.position) == fetch.position
  }

  /// Whether the resource has no length, no validator and no range support: until its end has come,
  /// its stored bytes can be neither completed nor confirmed.
  var isUnrepeatable: Bool {
    guard let info else { return false }
    return info.length == nil && !info.supportsRanges && validator.isEmpty
  }

  static let brokeOff = MediaCacheError(
    .resourceChanged, "The live stream broke off.",
    remedy: "Open the stream again to play from its current position.")

  static let outOfReach = MediaCacheError(
    .badRange, "The requested part of the live stream has passed, or is too far ahead.",
    remedy: "Open the stream again to play from its current position.")
}
