// SPDX-License-Identifier: MIT
package import Foundation

/// A transport that sends other requests than GET, too, on behalf of others.
package protocol RelayingTransport: Transport {
  /// As `send`. The request's body may still be under way when it returns.
  ///
  /// - Throws: as `send`; what `RelayedRequest.Body.next` throws.
  func relay(_ request: RelayedRequest) async throws -> OriginResponse
}

/// A request that is sent on for somebody else, with its method and its body.
package struct RelayedRequest: Sendable {
  package var method: String
  package var url: URL
  /// Without Content-Length and Transfer-Encoding: `body` says what they are to be.
  package var headers: HTTPFields
  package var body: Body?
  /// The longest that nothing may come or go.
  package var longestSilence: Duration = .seconds(60)

  package struct Body: Sendable {
    /// In bytes; nil where it is known at the end only.
    package var length: Int64?
    /// The next part, nil after the last. Asked for as the origin takes them, one after the other.
    package var next: @Sendable () async throws -> Data?

    package init(length: Int64?, next: @escaping @Sendable () async throws -> Data?) {
      self.length = length
      self.next = next
    }
  }

  package init(method: String, url: URL, headers: HTTPFields, body: Body? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}
