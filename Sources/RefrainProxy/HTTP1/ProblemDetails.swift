// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// An error response for programs: a problem in JSON (RFC 9457).
struct ProblemDetails: Sendable, Hashable, Encodable {
  /// The status alone is the kind of the problem (RFC 9457 §4.2.1).
  var type = "about:blank"
  /// The phrase of the status.
  var title: String
  var status: Int
  /// One sentence for people.
  var detail: String

  init(_ error: HTTPError) {
    title = StatusPhrase.of(error.status)
    status = error.status
    detail = error.reason
  }

  static let mediaType = "application/problem+json"

  /// Whether a client names JSON among what it accepts (RFC 9110 §12.5.1). A browser or a player
  /// does not, and receives a sentence.
  static func isAccepted(by fields: HeaderFields) -> Bool {
    let accepted = AcceptedTypes(fields)
    return [mediaType, "application/json"].contains { accepted.weight(of: $0) > 0 }
  }

  /// Returns the response's head for GET, and its body.
  static func answer(
    _ error: HTTPError, fields: HeaderFields = [:]
  ) throws -> (head: ResponseHead, body: [UInt8]) {
    let body = try JSONLine.bytes(of: ProblemDetails(error))
    var (head, _) = OwnAnswer.make(error, fields: fields)
    head.fields["Content-Type"] = mediaType
    head.body = .length(Int64(body.count))
    return (head, body)
  }
}
