// SPDX-License-Identifier: MIT
package import Foundation

/// A transport that also sends requests other than GET, on behalf of clients.
package protocol RelayingTransport: Transport {
  /// Sends a request, as `send`. May return before the request's body has been sent.
  ///
  /// - Throws: as `send`; the errors of `RelayedRequest.Body.next`.
  func relay(_ request: RelayedRequest) async throws -> OriginResponse
}

/// A client's request that is passed on, with its method and its body.
package struct RelayedRequest: Sendable {
  package var method: String
  package var url: URL
  /// Without Content-Length and Transfer-Encoding, which `body` determines.
  package var headers: HeaderFields
  package var body: Body?
  /// The longest silence in either direction.
  package var longestSilence: Duration = .seconds(60)
  /// Receives the status and the fields of each interim response (1xx, RFC 9110 §15.2) that precedes
  /// the final one, on no particular thread; must not block. URLSession passes none on.
  package var onInterim: (@Sendable (Int, HeaderFields) -> Void)?
  /// As in `OriginRequest`.
  package var requiresPublicAddress = false

  package struct Body: Sendable {
    /// In bytes; nil if it is known only at the end.
    package var length: Int64?
    /// Returns the next part, nil after the last. Called as the origin takes the parts, one at a
    /// time.
    package var next: @Sendable () async throws -> Data?

    package init(length: Int64?, next: @escaping @Sendable () async throws -> Data?) {
      self.length = length
      self.next = next
    }
  }

  package init(method: String, url: URL, headers: HeaderFields, body: Body? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}
