// SPDX-License-Identifier: MIT
import Foundation

/// Keeps error responses for readers that pass them on.
extension OriginExchange {
  /// Returns the error with the response that it reports, whose body is read here. Without it if that
  /// is long, slow or encoded, or is no error of the requested origin: whoever passes it on has to
  /// request it again.
  ///
  /// - Parameter given: the answered request, as its reader gave it; nil if that is not known.
  func keeping(
    _ response: Response, to given: Resource?, in failure: MediaCacheError
  ) async -> MediaCacheError {
    guard let given, Self.isKept(response) else { return failure }
    let body: Data
    do {
      guard let whole = try await wholeBody(of: response) else { return failure }
      body = whole
    } catch {
      // The body broke off, or nobody waits for it any more. The head has reported the error.
      return failure
    }
    var failure = failure
    failure.response = ErrorResponse(
      status: response.status, headers: response.headers, body: body, to: given)
    return failure
  }

  private static func isKept(_ response: Response) -> Bool {
    // 416 is about the range, which is the cache's own.
    guard (400...599).contains(response.status), response.status != 416, !response.isRepeated,
      !response.isDecoded
    else { return false }
    guard response.headers.contentCodings.isEmpty else { return false }
    // The fields of another origin, such as cookies and challenges, are not for this one.
    guard
      RedirectPolicy.origin(of: response.url) == RedirectPolicy.origin(of: response.askedURL)
    else { return false }
    return response.headers.bodyLength.map { $0 <= ErrorResponse.longestBody }
      ?? true
  }

  /// Returns the body; nil if it is too long.
  private func wholeBody(of response: Response) async throws -> Data? {
    expectShortBody()
    defer { rest() }
    var body = Data()
    for try await chunk in response.body {
      traffic.countReceived(chunk.count)
      body += chunk
      guard body.count <= ErrorResponse.longestBody else { return nil }
      if let delay = origin.pace.delay(after: chunk.count) { await origin.pace.pause(delay) }
    }
    return body
  }
}
