// SPDX-License-Identifier: MIT

/// Error responses, for readers that pass them on.
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
    return origin.retry.delay(after: failure.failure, count: count, isPlaying: false) != nil
  }
}
