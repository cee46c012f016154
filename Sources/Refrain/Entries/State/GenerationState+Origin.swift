// SPDX-License-Identifier: MIT

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
  /// Records what became of a request for a range.
  mutating func note(_ found: OriginRanges) {
    if ranges == .refused || (ranges == .answered && found == .refused) { return }
    ranges = found
  }

  /// Whether requests ask for the whole resource: where the origin refuses ranges, and for a
  /// document that is not known to have ranges. Origins that compress it would respond with a range
  /// of the compressed bytes.
  ///
  /// So do those for a version of one response, unless the rest of it can be requested.
  var isRequestedWhole: Bool {
    if ranges == .refused { return true }
    if isOneResponse, info == nil || isComplete || validator.ifRange == nil { return true }
    return representation.isDocument && info?.supportsRanges != true
  }

  /// Whether each response begins at the first byte: readers wait for it wherever they are.
  var comesWhole: Bool {
    ranges == .ignored || ranges == .refused || isOneResponse || info?.supportsRanges == false
  }
}

/// Origins whose validator, or length, changes with each response: podcasts with inserted
/// advertisements, servers behind one name whose ETags differ, files that are still being written.
///
/// No two of their responses can be combined, so once two versions in a row have come to nothing,
/// one response is the whole version. It is requested without a range, received to its end whoever
/// reads it, and every reader waits for it. What is stored of it plays like any other version.
extension GenerationState {
  private static let mostVersions = 5

  /// Whether one response is this generation.
  var isOneResponse: Bool { validator.isOfOneResponse }

  /// Whether a fetch is received to its end, although nobody may want its bytes now: another
  /// response could not bring them.
  func isKeptToEnd(_ fetch: RunningFetch) -> Bool {
    isOneResponse && !fetch.isConfirmation && (fetch.isReceivingWhole || fetch.hasBody)
      && !isTransient && length != nil
  }

  /// Returns the number of versions in a row that were replaced before all of them had come, if this
  /// one is replaced now (`Validator.replacements`).
  func replacements(at now: Uptime) -> Int {
    // A document that is replaced as it goes on is no origin that changes.
    if isLive || freshness?.pace != nil { return 0 }
    if isComplete { return isOneResponse ? Validator.mostReplacements : 0 }
    if !isOneResponse, info != nil {
      let age = (lastContact?.time ?? freshness?.confirmedUptime).flatMap { now.seconds(since: $0) }
      // Later, it is a usual change.
      guard let age, age < 60 else { return 0 }
    }
    return (validator.replacements ?? 0) + 1
  }

  /// Whether the origin has sent too many versions in a row. A reader that asks again causes some
  /// more.
  mutating func hasChangedTooOften(at now: Uptime) -> Bool {
    guard life != .superseded, replacements(at: now) >= Self.mostVersions else { return false }
    representation.follow(replacements: Validator.mostReplacements)
    return true
  }

  static let keepsChanging = MediaCacheError(
    .invalidResponse,
    "The origin sends another version with each response, and none of the last \(mostVersions) "
      + "arrived to its end.",
    remedy: "Try again later, or use another source.")
}
