// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
package import Refrain

/// A response of the proxy's own: an error in one sentence, or something for its operator.
package struct OwnAnswer: Sendable {
  package var status: Int
  package var fields: HeaderFields
  package var body: [UInt8]

  package init(status: Int = 200, type: String, _ body: [UInt8]) {
    self.status = status
    fields = [
      "Date": HTTPDate.format(Date()), "Content-Type": type, "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    ]
    self.body = body
  }

  package init(_ error: HTTPError) {
    self.init(
      status: error.status, type: "text/plain; charset=utf-8", Array("\(error.reason)\n".utf8))
    if let seconds = error.retryAfter ?? (error.status == 503 ? 1 : nil) {
      fields.append("Retry-After", String(seconds))
    }
  }

  var head: ResponseHead {
    ResponseHead(status: status, fields: fields, body: .length(Int64(body.count)))
  }
}
