// SPDX-License-Identifier: MIT
import Foundation

/// How the origin handles requests for ranges, by its responses so far.
enum OriginRanges: Sendable {
  /// Nothing is known but the announcement (`ContentInformation.supportsRanges`).
  case announced
  /// It has sent a range.
  case answered
  /// It sends the whole resource instead, whatever it announces: readers wait for that response.
  case ignored
  /// It has a usable response only to requests without a range: no further request names one.
  case refused
}

extension GenerationState {
  /// Whether a request for a range brings the whole resource, if anything.
  var ignoresRanges: Bool { ranges == .ignored || ranges == .refused }

  /// Records a range that the origin has sent.
  mutating func noteRange() {
    if ranges != .refused { ranges = .answered }
  }

  /// Records a whole response to a request for a range.
  mutating func noteIgnoredRange() {
    if ranges != .refused { ranges = .ignored }
  }

  /// Records a response to a request from which a refused range had been dropped.
  mutating func noteRefusedRange() {
    if ranges != .answered { ranges = .refused }
  }

  /// Returns the range of a request if the same request may be sent without it: an error of an
  /// origin that has never sent a range may be due to the range alone.
  func optionalRange(_ range: ByteRange) -> ByteRange? { ranges == .answered ? nil : range }

  /// Whether requests ask for the whole resource: where the origin refuses ranges, and for a
  /// document that is not known to have ranges. Origins that compress it would respond with a range
  /// of the compressed bytes.
  ///
  /// So do those for a version of one response, unless the rest of it can be requested.
  var isRequestedWhole: Bool {
    if ranges == .refused { return true }
    if isOneResponse, info == nil || isComplete || validator.ifRange == nil { return true }
    guard let info else { return representation.isRequestedAsDocument }
    guard !info.supportsRanges, info.length ?? 0 <= representation.longestDocument else {
      return false
    }
    return representation.isRequestedAsDocument || representation.isNamedDocument
  }
}
