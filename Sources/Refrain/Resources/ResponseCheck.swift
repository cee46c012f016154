// SPDX-License-Identifier: MIT
import Foundation

/// Decides how a fetch uses a response from its head, before a byte of its body is stored.
struct ResponseCheck: Sendable {
  var asked: ByteRange
  /// Nil before the first response.
  var known: Known?
  /// Whether If-Range was sent: a 200 then shows that the resource has changed (RFC 9110 §13.1.5).
  var sentIfRange = false
  /// Whether a web page in place of the resource is a network's sign-in page.
  var isNoPage = false

  struct Known: Sendable, Hashable {
    var length: Int64?
    var validator: Validator
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
    case whole(Facts)
    case notModified
    case changed
    /// A 416: nothing begins at the offset.
    case beyondEnd(length: Int64?)
    case transient(MediaCacheError, retryAfter: Duration?)
    /// The response violates HTTP; another one may not.
    case invalid(MediaCacheError)
    case failed(MediaCacheError)

    var facts: Facts? {
      switch self {
      case .part(_, let facts), .whole(let facts): facts
      default: nil
      }
    }
  }

  func verdict(status: Int, headers: HeaderFields, now: Date) -> Verdict {
    let isWhole = WholeResponse.statuses.contains(status)
    if status == 304 { return .notModified }
    if status == 416 { return unsatisfied(headers) }
    guard isWhole || status == 206 else {
      let error = Self.failure(status)
      guard RetryPolicy.isTransient(status: status) else { return .failed(error) }
      return .transient(error, retryAfter: headers.retryAfter(at: now))
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
      // Ranges of it have other bytes (RFC 9110 §12.5.3). An origin that begins with a coding
      // continues with it; one that sent plain bytes before may do so again.
      let problem = Self.declined(String(codings.joined(separator: ", ").prefix(40)))
      return known == nil ? .failed(problem) : .invalid(problem)
    }
    if hasChanged(facts) { return .changed }
    if isWhole {
      let isUnknown = known?.validator.matches(facts.validator) == .unknown
      return sentIfRange && isUnknown ? .changed : .whole(facts)
    }
    guard facts.mimeType != "multipart/byteranges", let range = headers.contentRange?.range,
      range.lowerBound == asked.lowerBound, range.upperBound <= known?.length ?? .max,
      headers.bodyLength ?? Int64(range.count) == Int64(range.count)
    else { return .invalid(Self.invalid("answered 206 without the range that was requested")) }
    return .part(range, facts)
  }

  private func unsatisfied(_ headers: HeaderFields) -> Verdict {
    let length = headers.contentRange?.total
    if known?.validator.matches(Validator(headers: headers)) == .different { return .changed }
    if let length, length != known?.length ?? length { return .changed }
    if let end = length ?? known?.length, asked.lowerBound < end {
      return .invalid(Self.invalid("refuses a range within the length of the resource"))
    }
    return .beyondEnd(length: length)
  }

  /// Another length shows another generation whatever the validator: files dated alike by a build,
  /// and tags made by hand, stay. Of a document whose validator proves nothing, the body decides.
  private func hasChanged(_ facts: Facts) -> Bool {
    guard let known else { return false }
    let match = known.validator.matches(facts.validator)
    if known.isDocument, !(known.validator.followsDocument && match == .same) { return true }
    if let before = known.length, let now = facts.length, before != now { return true }
    let isOtherType = known.isPage && facts.mimeType != nil && !MediaType.isPage(facts.mimeType)
    return match == .different || match != .same && isOtherType
  }

  static func declined(_ what: String) -> MediaCacheError {
    var error = MediaCacheError(
      .invalidResponse,
      "The origin sends the resource compressed (\(what)), although that was declined.",
      remedy: "Turn off its compression at the origin: ranges of compressed bytes are unusable.")
    error.isEncoded = true
    return error
  }

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
  /// 203 is a 200 whose content a proxy has changed (RFC 9110 §15.3.4).
  package static let statuses: Set<Int> = [200, 203]
}
