// SPDX-License-Identifier: MIT

/// A response that a shared cache must not store (RFC 9111 §3) is handed to the reader whose request it
/// answers, as it arrives. No other reader receives it, nothing of it is kept, and nothing more is
/// requested for its generation: another response could be for somebody else.
extension GenerationState {
  struct Handed: Sendable {
    /// The reader that receives it.
    var reader: ReaderID
    /// All fields of the response.
    var headers: HeaderFields
    var status: Int
  }

  /// Returns the reader that waits for the first response of this generation, or is about to, and has
  /// asked for just what was requested.
  ///
  /// - Parameter given: the request, as its reader gave it; nil if that is not known.
  func reader(asking given: Resource?) -> ReaderID? {
    guard let given, info == nil else { return nil }
    let waiting = Set(waiters.values.map(\.reader))
    return readers.filter { id, reader in
      guard waiting.contains(id) || reader.activity == .aboutToWait else { return false }
      return !reader.isBackground && !reader.fillsWhole
        && reader.resource?.isAsked(as: given) == true
    }.keys.min()
  }

  /// Hands the response to a reader if it must not be stored.
  mutating func hand(_ headers: HeaderFields, _ status: Int, to reader: ReaderID?) -> [Action] {
    guard let reader, isForbidden, !isLive else { return [] }
    handed = Handed(reader: reader, headers: headers, status: status)
    let others = takeWaiters { $0.reader != reader }
    return others.isEmpty ? [] : [.wake(others, nil)]
  }

  /// Returns what a reader finds in place of a response that was handed to another one: a client asks
  /// for itself, a player begins with the next generation.
  func withheld(from id: ReaderID) -> Lookup? {
    guard let handed, handed.reader != id, let reader = readers[id] else { return nil }
    return reader.terms.audience == .client ? .failed(ReadTerms.personal) : .moved
  }

  static let handedInPart = MediaCacheError(
    .unreachable, "The origin's response, which may not be stored, has ended before these bytes.",
    remedy: "Open the resource again to request them.")
}
