// SPDX-License-Identifier: MIT

/// The credentials for which this generation may be served.
extension GenerationState {
  var selection: Selection { representation.selection }

  /// Records that the origin has served or confirmed this generation for these credentials.
  mutating func grant(to credentials: [String]) {
    if representation.grant(to: credentials) { storage.noteRecordStale() }
  }

  /// Whether the generation may be served for these credentials.
  ///
  /// - Parameter credentials: nil if they do not matter.
  func isGranted(to credentials: String?) -> Bool {
    guard let credentials, let grants = representation.grants, !grants.contains(credentials) else {
      return true
    }
    return selection.isGranted(to: credentials)
  }

  /// Whether a reader that has read nothing would receive bytes that the origin sent for other
  /// credentials, or another signature.
  func isWithheld(from reader: Reader) -> Bool {
    guard info != nil, !reader.hasRead else { return false }
    return !isGranted(to: reader.terms.credentials) || !isConfirmed(on: reader.terms)
  }

  /// The state of the other readers while nothing is known of the resource.
  enum OtherReaders { case none, asking, refused }

  func otherReaders(than id: ReaderID) -> OtherReaders {
    guard fetches.isEmpty, waiters.isEmpty else { return .asking }
    let others = readers.filter { $0.key != id }.values
    if others.isEmpty { return .none }
    // Readers that waited and no longer wait have received an error.
    return others.allSatisfy(\.isActive) ? .refused : .asking
  }

  static let withheld = MediaCacheError(
    .resourceChanged,
    "The origin responded to a request with other credentials, or another signature, in the "
      + "meantime.",
    remedy: "Open the resource again to send this request to the origin.")
}
