// SPDX-License-Identifier: MIT
import Foundation

/// Keeps responses that bring no resource for readers that pass them on.
extension OriginExchange {
  /// Returns the error with the response that it reports, whose body is read here unless it is long.
  /// Without it if that is repeated, or of another origin and behind no redirect: whoever passes it
  /// on has to request it again.
  func keeping(_ response: Response, in failure: MediaCacheError) async -> MediaCacheError {
    var failure = failure
    failure.response = await kept(response) ?? response.redirect
    return failure
  }

  /// Returns a response with the beginning of its body, for whoever passes it on; nil if nobody may.
  func kept(_ response: Response) async -> ErrorResponse? {
    guard let given = response.given, Self.isKept(response) else { return nil }
    do {
      let (body, rest) = try await beginning(of: response)
      return ErrorResponse(
        status: response.status, headers: response.headers, requestTime: response.requestTime,
        responseTime: response.responseTime, body: body, rest: rest, to: given)
    } catch {
      // The body broke off, or nobody waits for it any more. The head has reported the error.
      return nil
    }
  }

  private static func isKept(_ response: Response) -> Bool {
    // 416 is about the range, which is the cache's own. So is one range of a body in a coding.
    guard response.status != 416, response.status != 206, !response.isRepeated,
      !response.isDecoded
    else { return false }
    // The fields of another origin, such as cookies and challenges, are not for this one.
    return WebOrigin.isOne(of: response.url, response.resource.url)
  }

  /// Returns the body, or its beginning and the rest if it is long.
  private func beginning(of response: Response) async throws -> (Data, BodyRest?) {
    expectShortBody()
    defer { self.rest() }
    let reading = BodyRest(response.body) { [origin] read in
      let watch = SilenceTimeout.Watch()
      watch.expect(within: origin.silenceTimeout)
      return try await origin.silence.run(watch, read)
    } received: { [origin, traffic] count in
      traffic.countReceived(count)
      await origin.pace.received(count)
    }
    var body = Data()
    while let chunk = try await reading.read() {
      body += chunk
      guard body.count <= ErrorResponse.longestBody else { return (body, reading) }
    }
    return (body, nil)
  }
}
