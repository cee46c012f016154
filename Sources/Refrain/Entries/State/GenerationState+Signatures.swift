// SPDX-License-Identifier: MIT
import Foundation

/// The signatures of URLs under which this generation may be served.
extension GenerationState {
  /// Records that the origin has served or confirmed this generation for these signatures.
  ///
  /// - Parameter url: the newest URL with one of them.
  mutating func confirm(_ signatures: [String], at url: URL) {
    if representation.confirm(signatures, at: url) { storage.noteRecordStale() }
  }

  /// Whether the generation may be served under a signature. Each hit asks: a URL without one costs
  /// the comparison of an empty text, and no allocation.
  ///
  /// - Parameter signature: nil if it does not matter.
  func isConfirmed(for signature: URLSignature?) -> Bool {
    guard let signature else { return true }
    return representation.signatures.contains(signature.text)
  }

  /// Whether the generation may be served under a signature about which the origin cannot be asked.
  ///
  /// - Parameter signature: nil if it does not matter.
  func isAssumed(for signature: URLSignature?) -> Bool {
    signature?.differsInRightsAlone(from: representation.signatures) ?? true
  }

  /// Whether the generation may be served on these terms, as far as signatures are concerned.
  func isConfirmed(on terms: FreshnessRequirements) -> Bool {
    terms.waivesSignature ? isAssumed(for: terms.signature) : isConfirmed(for: terms.signature)
  }
}
