// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// One request for libcurl to send.
  struct CurlRequest: Sendable {
    var method = "GET"
    var url: URL
    var headers: HeaderFields
    var body: RelayedRequest.Body?
    /// The longest silence in either direction; nil: other code watches it.
    var longestSilence: Duration?
    /// See `RelayedRequest.onInterim`.
    var onInterim: (@Sendable (Int, HeaderFields) -> Void)?
    /// Whether the host's name must not lead to a private address.
    var requiresPublicAddress = false

    init(_ request: OriginRequest) {
      url = request.url
      headers = request.headers
      requiresPublicAddress = request.requiresPublicAddress
    }

    init(_ request: RelayedRequest) {
      method = request.method
      url = request.url
      headers = request.headers
      body = request.body
      longestSilence = request.longestSilence
      onInterim = request.onInterim
      requiresPublicAddress = request.requiresPublicAddress
    }

    /// Whether the request may be sent again if a kept connection turns out to be closed (RFC
    /// 9110 §9.2.2).
    var isIdempotent: Bool {
      body == nil && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }

    /// The number of bytes requested; nil if the request does not say.
    var length: Int64? {
      guard let range = headers["Range"], range.hasPrefix("bytes=") else { return nil }
      let ends = range.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
      guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
        first <= last
      else { return nil }
      return last - first + 1
    }
  }
#endif
