// SPDX-License-Identifier: MIT
import Foundation

/// Responses that are not stored, and who receives them.
extension GenerationState {
  struct Handed: Sendable {
    var reader: ReaderID
    /// All fields of the response.
    var headers: HeaderFields
    var status: Int
  }

  /// Keeps received bytes that are not stored, for as long as a reader is near.
  mutating func commitTransient(_ id: FetchID, _ bytes: Data, at offset: Int64) {
    let range = offset..<(offset + Int64(bytes.count))
    storage.reached = max(storage.reached, range.upperBound)
    let windows = transientWindows()
    if windows.contains(where: { $0.overlaps(range) }) { transient.insert(bytes, at: offset) }
    transient.keep(near: windows)
    fetches.move(id, to: range.upperBound)
    if let fetch = fetches[id], range.upperBound > fetch.furthest {
      fetches[id]?.brought += range.upperBound - max(range.lowerBound, fetch.furthest)
      fetches[id]?.furthest = range.upperBound
    }
    if let liveEnd { self.liveEnd = max(liveEnd, range.upperBound) }
    wakeServed()
    let unserved = waits.filter { $0.reader.isBackground && $0.offset.map(range.contains) == true }
    wake(unserved, with: storageProblem)
  }

  /// Whether a reader is near any byte that a fetch has yet to bring: otherwise bytes that cannot
  /// be stored are useless.
  func isOfUse(_ id: FetchID, from offset: Int64) -> Bool {
    guard let fetch = fetches[id] else { return false }
    let rest = offset..<max(fetch.range.upperBound, offset + 1)
    return transientWindows().contains { $0.overlaps(rest) }
  }

  /// The ranges near readers.
  func transientWindows() -> [ByteRange] {
    let ahead = min(limits.maximumReadAhead, TransientBytes.mostAhead)
    let waiting = waits.filter { !$0.reader.isBackground }.compactMap(\.offset)
    // A reader that has begun a live stream cannot get its start elsewhere.
    let near = readers.values.filter { !$0.isBackground && ($0.isActive || isLive && $0.hasRead) }
    return (near.map(\.position) + waiting).map { max(0, $0 - (64 << 10))..<($0 + ahead) }
  }
}

/// A response that a shared cache must not store (RFC 9111 §3) is handed to the reader whose request it
/// answers, as it arrives. No other reader receives it, nothing of it is kept, and nothing more is
/// requested for its generation: another response could be for somebody else.
extension GenerationState {
  /// Returns the reader that waits for the first response of this generation, or is about to, and has
  /// asked for just what was requested (`given`; nil if that is not known).
  func reader(asking given: Resource?) -> ReaderID? {
    guard let given, info == nil else { return nil }
    let waiting = waitingReaders
    return readers.filter { (id, reader) in
      guard waiting.contains(id) || reader.activity == .aboutToWait else { return false }
      return !reader.isBackground && !reader.fillsWhole
        && reader.resource?.isAsked(as: given) == true
    }.map(\.key).min()
  }

  /// Hands the response to a reader if it must not be stored.
  mutating func hand(_ headers: HeaderFields, _ status: Int, to reader: ReaderID?) {
    guard let reader, isForbidden, !isLive else { return }
    handed = Handed(reader: reader, headers: headers, status: status)
    wake(waits.filter { $0.readerID != reader })
  }

  static let handedInPart = MediaCacheError(
    .unreachable, "The origin's response, which may not be stored, has ended before these bytes.",
    remedy: "Open the resource again to request them.")
}

/// Responses that the origin forbids to store (`no-store`, RFC 9111 §5.2.2.5).
///
/// A person who pins a group asks for it to play without the origin, which it cannot without its
/// documents and keys. A cache for one person stores them then, as a browser saves a page on
/// request. They are revalidated before each use while the origin can be reached, and removed with
/// the pin. A cache for several people stores nothing of the kind: the pin of one is not the wish of
/// the others.
///
/// A pin needs stored bytes, so they are stored first, for the wish of a reader
/// (`ResourcePolicy.Group.isKept`). The pin on disk decides what stays: when the entry is closed without
/// one, because the download was refused or cancelled or another process has unpinned it, the
/// response is removed; what a process left that ended suddenly is not used (`Store`).
extension GenerationState {
  var isForbidden: Bool { freshness?.noStore == true && !storage.ignoresNoStore }

  mutating func obeyNoStore() {
    storage.ignoresNoStore = false
    if isForbidden { storage.refuse(.forbidden) }
  }
}

/// Live streams: a station sends what it plays now, and another response begins elsewhere. So one
/// response is all of a generation: it passes through memory, no part of it is stored or requested
/// again, and the generation ends when the response breaks off.
extension GenerationState {
  var isLive: Bool { liveEnd != nil }

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
