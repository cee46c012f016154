// SPDX-License-Identifier: MIT

import Foundation
package import OriginServer

/// The response to one request.
package struct Reply: Sendable {
  package var informational: [Int] = []
  package var status = 0
  package var fields: [Field] = []
  /// The body without chunk framing.
  package var body: [UInt8] = []
  /// Whether the body reached the end that its framing declares.
  package var isComplete = false

  package init() {}

  package subscript(name: String) -> String? { fields.first(name) }

  package var text: String { String(decoding: body, as: UTF8.self) }
}

extension OriginServer {
  /// Runs `body` with a server that is stopped afterwards, on every outcome.
  package static func with<Value>(
    sendBuffer: Int? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (OriginServer) async throws -> Value
  ) async throws -> Value {
    let origin = try await start(sendBuffer: sendBuffer)
    let result: Result<Value, any Error>
    do {
      result = .success(try await body(origin))
    } catch {
      result = .failure(error)
    }
    await origin.stop()
    return try result.get()
  }

  /// Serves a text, with a strong ETag. Returns its URL.
  @discardableResult
  package func serve(
    text: String, at path: String, _ type: String = "application/vnd.apple.mpegurl",
    headers: [Field] = [], requiring required: Field? = nil
  ) -> String {
    serve(
      OriginResource(
        .bytes(text.utf8), contentType: type, etag: "\"\(path)\"", headers: headers,
        requiredHeader: required), at: path)
    return url(path).absoluteString
  }
}

extension Field {
  /// Fresh for an hour.
  package static let fresh = Field("Cache-Control", "max-age=3600")
}
