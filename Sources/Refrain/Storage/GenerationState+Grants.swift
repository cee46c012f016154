// SPDX-License-Identifier: MIT

/// To whom this generation may be given.
extension GenerationState {
  var selection: Selection { Selection(headers: headers, variant: variant, grants: grants) }

  /// The origin has given this generation, or confirmed it, to requests with these credentials.
  mutating func grant(to credentials: [String]) {
    guard var all = grants else { return }
    for one in credentials where all.last != one {
      all.removeAll { $0 == one }
      all.append(one)
    }
    guard all != grants else { return }
    grants = all.suffix(Selection.mostGrants)
    isRecordStale = true
  }

  /// - Parameter credentials: nil: they do not matter.
  func isGranted(to credentials: String?) -> Bool {
    guard let credentials, let grants, !grants.contains(credentials) else { return true }
    return selection.isGranted(to: credentials)
  }

  /// A reader that has read nothing would be given what the origin gave to other credentials.
  func isWithheld(from reader: Reader) -> Bool {
    info != nil && !reader.hasRead && !isGranted(to: reader.terms.credentials)
  }

  /// What the other readers of a resource do of which nothing is known yet.
  enum OtherReaders { case none, asking, refused }

  func otherReaders(than id: ReaderID) -> OtherReaders {
    guard fetches.isEmpty, waiters.isEmpty else { return .asking }
    let others = readers.filter { $0.key != id }.values
    if others.isEmpty { return .none }
    // Those that have waited, and wait no more, were given an error.
    return others.allSatisfy(\.isActive) ? .refused : .asking
  }

  static let withheld = MediaCacheError(
    .resourceChanged, "The origin answered a request with other credentials in the meantime.",
    remedy: "Open the resource again: the origin is asked with these.")
}
