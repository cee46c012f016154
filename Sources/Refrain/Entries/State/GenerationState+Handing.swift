// SPDX-License-Identifier: MIT

/// A response that a shared cache must not store (RFC 9111 §3) is handed to the reader whose request it
/// answers, as it arrives. No other reader receives it, nothing of it is kept, and nothing more is
/// requested for its generation: another response could be for somebody else.
extension GenerationState {
  /// Who receives the bytes of a generation.
  enum Delivery: Sendable {
    case everyone
    /// Those that read the live stream while it arrives, of which this is the end of the bytes
    /// received: one response is the whole generation.
    case live(end: Int64)
    /// One reader alone.
    case handed(Handed)
  }

  struct Handed: Sendable {
    /// The reader that receives the response.
    var reader: ReaderID
    /// All fields of the response.
    var headers: HeaderFields
    var status: Int
  }

  /// The response that one reader alone receives; nil: every reader may.
  var handed: Handed? { if case .handed(let handed) = delivery { handed } else { nil } }

  /// Returns the reader that waits for the first response of this generation, or is about to, and has
  /// asked for just what was requested.
  ///
  /// - Parameter given: the request, as its reader gave it; nil if that is not known.
  func reader(asking given: Resource?) -> ReaderID? {
    guard let given, info == nil else { return nil }
    let waiting = readers.waitingIDs
    return readers.filter { (id, reader) in
      guard waiting.contains(id) || reader.activity == .aboutToWait else { return false }
      return !reader.isBackground && !reader.fillsWhole
        && reader.resource?.isAsked(as: given) == true
    }.map(\.key).min()
  }

  /// Hands the response to a reader if it must not be stored.
  mutating func hand(_ headers: HeaderFields, _ status: Int, to reader: ReaderID?) {
    guard let reader, isForbidden, !isLive else { return }
    delivery = .handed(Handed(reader: reader, headers: headers, status: status))
    wake(readers.takeWaiters { waiter, _ in waiter.reader != reader })
  }

  /// Returns what a reader finds in place of a response that was handed to another one: a client asks
  /// for itself, a player begins with the next generation.
  func withheld<Found>(from id: ReaderID) -> Lookup<Found>? {
    guard let handed, handed.reader != id, let reader = readers[id] else { return nil }
    return reader.terms.audience == .client ? .failed(ReadTerms.personal) : .moved
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
  /// Whether the response may not be stored.
  var isForbidden: Bool { freshness?.noStore == true && !storage.ignoresNoStore }

  /// Stores no more of a response that the origin forbids to store.
  mutating func obeyNoStore() {
    storage.obeyNoStore()
    if isForbidden { storage.refuse(.forbidden) }
  }
}
