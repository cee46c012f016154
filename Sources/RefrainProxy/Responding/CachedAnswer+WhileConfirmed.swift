// SPDX-License-Identifier: MIT
import Refrain

/// Serves a stale response at once while the origin is asked to confirm it, where it permits that to
/// shared caches (RFC 5861 §3).
extension CachedAnswer {
  /// The most bytes of a new version that are requested without a client that waits for them.
  private static let longestPart: Int64 = 1 << 20

  /// Begins to confirm a response that is stale, and is served without a request. The new version, if
  /// there is one, comes with the confirmation.
  func confirmIfStale(_ selected: SelectedResponse, _ terms: ReadTerms) {
    let (reader, known) = (selected.reader, selected.known)
    let now = service.cache.now.wall
    guard terms.followsStaleDirectives, reader.statistics.requests == 0, !service.cache.isOffline,
      !known.freshness.isFresh(at: now), known.freshness.isUsableWhileConfirmed(at: now),
      let length = known.information.length
    else { return }
    let wanted: ByteRange =
      switch isHEAD ? .whole : range.selection(length: length) {
      case .whole, .several, .unsatisfiable: 0..<length
      case .single(let range): range
      }
    // A request for missing bytes confirms the stored ones, too.
    guard isHEAD || wanted.isEmpty || RangeSet(wanted).isSubset(of: reader.spansBefore) else {
      return
    }
    var terms = terms
    (terms.directives, terms.followsStaleDirectives) = (RequestDirectives(), false)
    terms.directives.maxAge = 0
    var resource = resource
    resource.key = reader.key
    let part = wanted.lowerBound..<min(wanted.upperBound, wanted.lowerBound + Self.longestPart)
    service.fills.confirm(resource, on: terms, part)
  }
}
