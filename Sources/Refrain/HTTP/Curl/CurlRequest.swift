// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// One request as libcurl is to send it.
  struct CurlRequest: Sendable {
    var method = "GET"
    var url: URL
    var headers: HTTPFields
    var body: RelayedRequest.Body?
    /// Somebody waits for it to play.
    var isForPlayback = false
    /// The longest that nothing may come or go; nil: that is watched by others.
    var longestSilence: Duration?

    init(_ request: OriginRequest) {
      url = request.url
      headers = request.headers
      isForPlayback = request.purpose == .playback
    }

    init(_ request: RelayedRequest) {
      method = request.method
      url = request.url
      headers = request.headers
      body = request.body
      longestSilence = request.longestSilence
    }

    /// Whether it may be sent once more where a connection that was kept open turns out to be closed
    /// (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
      body == nil && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }

    /// A player may want to jump while the answer comes.
    var isLong: Bool { isForPlayback && length ?? .max >= Self.longLength }
    private static let longLength: Int64 = 1 << 20

    /// How many bytes are asked for; nil where the request does not say.
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
