// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// A response of the proxy's own: an error in one sentence, or something of its page or for its
/// operator.
struct OwnAnswer: Sendable {
  var status: Int
  var fields: HeaderFields
  var body: [UInt8]

  init(status: Int = 200, type: String, _ body: [UInt8]) {
    self.status = status
    fields = [
      "Date": HTTPDate.format(Date()), "Content-Type": type, "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    ]
    self.body = body
  }

  init(_ error: HTTPError) {
    self.init(
      status: error.status, type: "text/plain; charset=utf-8", Array("\(error.reason)\n".utf8))
    if let seconds = error.retryAfter ?? (error.status == 503 ? 1 : nil) {
      fields.append("Retry-After", String(seconds))
    }
  }

  /// Writes a value as one line of JSON, with its members in the order of their names.
  init(json value: some Encodable, status: Int = 200) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    self.init(
      status: status, type: "application/json", Array(try encoder.encode(value)) + [10])
  }

  var head: ResponseHead {
    ResponseHead(status: status, fields: fields, body: .length(Int64(body.count)))
  }
}

extension ResponseWriter {
  /// Sends a whole response; to HEAD, without its body.
  ///
  /// - Parameter isMeasured: whether the time to it is counted.
  func send(_ answer: OwnAnswer, to request: RequestHead, isMeasured: Bool = false) async throws {
    var head = answer.head
    head.isMeasured = isMeasured
    if request.isHEAD { head.body = .omitted(Int64(answer.body.count)) }
    try await begin(head)
    if !request.isHEAD, !answer.body.isEmpty { try await write(ByteBuffer(bytes: answer.body)) }
    try await end()
  }
}
