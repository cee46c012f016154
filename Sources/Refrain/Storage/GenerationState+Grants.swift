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

  static let withheld = MediaCacheError(
    .resourceChanged, "The origin answered a request with other credentials in the meantime.",
    remedy: "Open the resource again: the origin is asked with these.")
}
