// SPDX-License-Identifier: MIT
import Foundation

/// Decides how a fetch uses a response from its head, before a byte of its body is stored.
struct ResponseCheck: Sendable {
  var asked: ByteRange
  /// Nil before the first response.
  var known: Known?
  /// Whether If-Range was sent: a 200 then shows that the resource has changed (RFC 9110 §13.1.5).
  var sentIfRange = false
  /// The length of the resource in the response to a range that was then dropped.
  var statedLength: Int64?
  /// Whether the resource is known to be no web page: a page in its place is a network's sign-in
  /// page, and says nothing of the origin.
  var isNoPage = false

  struct Known: Sendable, Hashable {
    var length: Int64?
    var validator: Validator
    /// Whether the resource is a web page: a response with another type is something else.
    var isPage = false
    /// Whether the resource is a document that a whole response replaces, unless a validator shows
    /// that it is the same: one that goes on is rewritten every few seconds, often with its length.
    var isDocument = false
  }

  struct Facts: Sendable, Hashable {
    var length: Int64?
    var mimeType: String?
    var supportsRanges: Bool
    var validator: Validator
  }

  enum Verdict: Sendable, Hashable {
    /// A 206: the body is that range.
    case part(ByteRange, Facts)
    /// A 200 or 203: the body is the resource from its first byte on.
    case whole(Facts)
    /// A 304: the stored bytes are current.
    case notModified
    /// The origin has another generation by now.
    case changed
    /// A 416: nothing begins at the offset; with the length if the origin sent it.
    case beyondEnd(length: Int64?)
    case transient(MediaCacheError, retryAfter: Duration?)
    /// The response violates HTTP; another one may not.
    case invalid(MediaCacheError)
    case failed(MediaCacheError)
  }

  func verdict(status: Int, headers: HeaderFields, now: Date) -> Verdict {
    let isWhole = WholeResponse.statuses.contains(status)
    guard isWhole || status == 206 else {
      switch status {
      case 304: return .notModified
      case 416: return unsatisfied(headers)
      default:
        let error = Self.failure(status)
        guard RetryPolicy.isTransient(status: status) else { return .failed(error) }
        return .transient(error, retryAfter: headers.retryAfter(at: now))
      }
    }
    let facts = Facts(
      length: isWhole ? headers.bodyLength : headers.contentRange?.total,
      mimeType: MediaType.essence(headers["Content-Type"]),
      // The origin may have ignored the range only this once.
      supportsRanges: !isWhole
        || headers["Accept-Ranges"]?.lowercased().contains("bytes") == true,
      validator: Validator(headers: headers))
    if isNoPage, MediaType.isPage(facts.mimeType),
      known?.validator.matches(facts.validator) != .same
    {
      return .transient(
        MediaCacheError(
          .unreachable,
          "A web page was received in place of the media, probably a network's sign-in page.",
          remedy: "Open a web browser and sign in to the network, then try again."),
        retryAfter: nil)
    }
    let codings = headers.contentCodings
    if !codings.isEmpty {
      // Ranges of any other coding have other bytes (RFC 9110 §12.5.3). An origin that begins with
      // a coding continues with it. One that sent plain bytes before may do so again.
      let problem = Self.declined(String(codings.joined(separator: ", ").prefix(40)))
      return known == nil ? .failed(problem) : .invalid(problem)
    }
    return isWhole ? whole(facts) : part(facts, headers)
  }

  private func part(_ facts: Facts, _ headers: HeaderFields) -> Verdict {
    guard facts.mimeType != "multipart/byteranges", let range = headers.contentRange?.range else {
      return unusable("answered 206 without a valid Content-Range")
    }
    if hasChanged(facts) { return .changed }
    let length = range.upperBound - range.lowerBound
    guard range.lowerBound == asked.lowerBound, range.upperBound <= known?.length ?? .max,
      headers.bodyLength ?? length == length
    else { return unusable("sends another range than the one requested") }
    return .part(range, facts)
  }

  private func whole(_ facts: Facts) -> Verdict {
    if let statedLength, let length = facts.length, length != statedLength {
      return unusable("reports two lengths of the resource")
    }
    if hasChanged(facts) { return .changed }
    if sentIfRange, let known, known.validator.matches(facts.validator) == .unknown {
      return .changed
    }
    return .whole(facts)
  }

  private func unsatisfied(_ headers: HeaderFields) -> Verdict {
    let length = headers.contentRange?.total
    if let known {
      if known.validator.matches(Validator(headers: headers)) == .different { return .changed }
      if let length, let expected = known.length, length != expected { return .changed }
    }
    if let end = length ?? known?.length, asked.lowerBound < end {
      return unusable("refuses a range within the length of the resource")
    }
    return .beyondEnd(length: length)
  }

  /// Whether the facts are those of another generation than the known one. Another length shows it
  /// whatever the validator: files dated alike by a build, and tags made by hand, stay the same when
  /// a file is replaced. Of a document without a validator that proves it, the body decides.
  private func hasChanged(_ facts: Facts) -> Bool {
    guard let known else { return false }
    let match = known.validator.matches(facts.validator)
    if known.isDocument, !(known.validator.followsDocument && match == .same) { return true }
    if let before = known.length, let now = facts.length, before != now { return true }
    switch match {
    case .different: return true
    case .same: return false
    case .weaklySame, .unknown:
      return known.isPage && facts.mimeType != nil && !MediaType.isPage(facts.mimeType)
    }
  }

  /// Returns the error for a body in a coding that the request declined.
  static func declined(_ what: String) -> MediaCacheError {
    var error = MediaCacheError(
      .invalidResponse,
      "The origin sends the resource compressed (\(what)), although that was declined.",
      remedy: "Turn off its compression at the origin: ranges of compressed bytes are unusable.")
    error.isEncoded = true
    return error
  }

  private func unusable(_ what: String) -> Verdict { .invalid(Self.invalid(what)) }

  static func invalid(_ what: String) -> MediaCacheError {
    MediaCacheError(
      .invalidResponse, "The origin \(what).",
      remedy: "The response was discarded; the origin, or a proxy before it, needs repair.")
  }

  static func failure(_ status: Int) -> MediaCacheError {
    let remedy =
      switch status {
      case 401, 403: "Send the required credentials, with a header or a new URL."
      case 404, 410: "Check the URL. A signed one may have expired."
      case 500...: "Try again later."
      default: ""
      }
    return MediaCacheError(
      .status, "The origin answered \(status).", remedy: remedy, status: status)
  }
}

package enum WholeResponse {
  /// 203 is a 200 whose content a proxy on the way has changed (RFC 9110 §15.3.4): it is stored, and
  /// keeps its status (`Freshness.isTransformed`).
  package static let statuses: Set<Int> = [200, 203]
}
