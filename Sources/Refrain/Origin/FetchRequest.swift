// SPDX-License-Identifier: MIT

/// A request for the bytes that a reader wants next. If these are stored, it confirms the generation
/// as well: every response to it is used. A pure value.
struct FetchRequest: Sendable {
  /// The requested range.
  var range: ByteRange
  /// Whether the bytes at the range's start are missing: the response brings them, and one without
  /// a body (304) would cost a second request.
  var fills: Bool
  /// Whether the request names no range (`GenerationState.isRequestedWhole`).
  var isWhole = false
  /// The known properties of the generation.
  var known: ResponseCheck.Known
  /// Whether the request is about stored bytes. It does not wait for a network.
  var isConfirmation = false
  /// Whether a response is expected within seconds: without one, stored bytes play.
  var isBrief = false
  /// Whether the request goes directly to the end of the last redirect chain. Not for the first
  /// request, and not for a confirming one: the chain may lead elsewhere by now.
  var usesShortcut = false
  /// The requested range, if the request may be sent once more without it where the response is
  /// unusable: an error of an origin that has never sent a range may be due to the range alone.
  var optionalRange: ByteRange?
  var purpose = OriginRequest.Purpose.playback

  /// The headers of the request: a range, and the condition that suits it.
  ///
  /// Stored bytes are confirmed by If-None-Match and If-Modified-Since (RFC 9110 §13.1.2, §13.1.3):
  /// a 304 when they are unchanged, else the range of the new version. Missing bytes are requested
  /// under If-Range (§13.1.5) if the validator is strong: a 206 confirms and fills, a 200 is the
  /// new version. Without a validator, or without a range, they are requested unconditionally, and so
  /// is a document whose validator may stay while it changes.
  var headers: HeaderFields {
    let validator = known.validator
    let isUnconditional = fills || (known.isDocument && !validator.followsDocument)
    var headers: HeaderFields = isUnconditional ? [:] : validator.conditional
    if isWhole { return headers }
    headers.append("Range", range.fieldValue)
    if let ifRange { headers.append("If-Range", ifRange) }
    return headers
  }

  /// The value of If-Range that is sent; nil if it is not.
  var ifRange: String? { fills && !isWhole ? known.validator.ifRange : nil }

  /// Whether a response that brings bytes is of the stored generation.
  ///
  /// - Parameters:
  ///   - verdict: of the response, judged by what is known of the generation.
  ///   - hasBeenRead: whether a reader has received bytes of the generation. If nothing shows
  ///     whether the origin has another one, ending that reader would be worse than continuing.
  func isConfirmed(by verdict: ResponseCheck.Verdict, hasBeenRead: Bool) -> Bool {
    switch verdict {
    case .part(_, let facts), .whole(let facts):
      switch known.validator.matches(facts.validator) {
      case .same, .weaklySame: return known.validator.isForStored || hasBeenRead
      case .different: return false
      case .unknown:
        // The origin itself has compared the validator that was sent.
        if case .part = verdict, ifRange != nil { return true }
        return hasBeenRead
      }
    default:
      return false
    }
  }
}
