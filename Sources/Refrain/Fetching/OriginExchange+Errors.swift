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
      entry.countReceived(chunk.count)
      body += chunk
      guard body.count <= ErrorResponse.longestBody else { return nil }
      if let delay = entry.context.originPace.delay(after: chunk.count) {
        await entry.context.originPace.pause(delay)
      }
    }
    return body
  }
}

extension Fetch {
  /// As `OriginExchange.keeping`, if a reader passes on error responses.
  func keeping(
    _ response: OriginExchange.Response, in failure: MediaCacheError, _ exchange: OriginExchange
  ) async -> MediaCacheError {
    guard generation.withState(\.passesOnErrors) else { return failure }
    return await exchange.keeping(response, to: response.given, in: failure)
  }

  /// Whether the request is sent again at once after an error response, before it is reported.
  ///
  /// - Parameters:
  ///   - count: the failures in a row.
  ///   - most: the failures after which it is reported (`GenerationState.mostErrors`).
  func repeatsAtOnce(
    after failure: MediaCacheError, count: Int, of most: Int, retryAfter: Duration?
  ) -> Bool {
    guard count < most, (retryAfter ?? .zero) <= .zero else { return false }
    let retry = context.configuration.retry
    return retry.delay(after: failure.failure, count: count, isPlaying: false) != nil
  }
}

extension GenerationState {
  /// Whether a reader that waits passes on the origin's error response.
  var passesOnErrors: Bool {
    readers.values.contains { $0.terms.passesOnErrors && !$0.hasRead }
  }

  /// How many error responses in a row are reported without a delay, while nothing is known and
  /// every reader wants them reported; nil if `RetryPolicy` decides.
  var mostErrors: Int? {
    guard info == nil, !readers.isEmpty, readers.values.allSatisfy(\.terms.passesOnErrors) else {
      return nil
    }
    return 2
  }
}
