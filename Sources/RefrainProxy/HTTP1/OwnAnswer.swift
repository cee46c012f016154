// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The proxy's own response: one sentence of plain text.
enum OwnAnswer {
  static func make(_ httpError: HTTPError, fields: HeaderFields = [:]) -> (
    ResponseHead, body: String
  ) {
    let body = httpError.reason + "\n"
    var fields = fields
    fields.append("Date", HTTPDate.format(Date()))
    fields.append("Content-Type", "text/plain; charset=utf-8")
    fields.append("Cache-Control", "no-store")
    fields.append("X-Content-Type-Options", "nosniff")
    if let seconds = httpError.retryAfter ?? (httpError.status == 503 ? 1 : nil) {
      fields.append("Retry-After", String(seconds))
    }
    return (
      ResponseHead(
        status: httpError.status, fields: fields, body: .length(Int64(body.utf8.count))), body
    )
  }
}
