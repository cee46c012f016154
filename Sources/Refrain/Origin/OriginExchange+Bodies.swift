// SPDX-License-Identifier: MIT
import Foundation

extension OriginExchange {
  /// Decodes a whole document that arrives compressed although the request declined that. Other
  /// resources in a coding are refused (`ResponseCheck`): ranges of them have other bytes.
  func decoded(_ response: Response) async throws -> Response {
    let decoder = response.isDecoded ? nil : response.decoder
    guard WholeResponse.statuses.contains(response.status), response.isDecoded || decoder != nil
    else { return response }
    let longest = response.request.documents?.longest ?? 0
    var body = Data()
    expectBody(isFirst: true)
    for try await chunk in response.body {
      body.append(chunk)
      // Bytes that cannot be compressed become slightly longer.
      guard body.count <= longest + 64 << 10 else { throw Self.undecodable(.tooLong) }
      expectBody(isFirst: false)
    }
    deadline.rest()
    if let decoder {
      do { body = try decoder(body, Int(longest)) } catch { throw Self.undecodable(error) }
    }
    var decoded = response
    decoded.hasMore = nil
    decoded.body = AsyncThrowingStream<Data, any Error> { [body] continuation in
      if !body.isEmpty { continuation.yield(body) }
      continuation.finish()
    }
    decoded.headers.dropCoding()
    decoded.headers.append("Content-Length", String(body.count))
    return decoded
  }

  private static func undecodable(_ fault: DocumentFault) -> MediaCacheError {
    if fault == .tooLong { return ResponseCheck.declined("more bytes than a document has") }
    var error = ResponseCheck.invalid("sent a compressed document that is damaged, or ends early")
    error.retry = fault == .truncated ? .invalid : .permanent
    return error
  }

  /// Adds what a reader passes on in place of the error: the response, or the first redirect to it.
  func keeping(_ response: Response, in failure: MediaCacheError) async -> MediaCacheError {
    guard passesOnErrors(), let given = response.asked.given else { return failure }
    var failure = failure
    let first = response.chain.redirections.first
    // 416 and 206 are about the range, which is the cache's own. The fields of another origin, such
    // as cookies and challenges, are not for this one; nor is a redirect relative to another URL.
    if failure.isPersonal
      || ![206, 416].contains(response.status) && !response.isDecoded
        && WebOrigin.isOne(of: response.url, response.resource.url)
        && (first == nil || !RequestChain.isRedirect(response.status))
    {
      failure.response = await handedOn(response, to: given, isShort: !failure.isPersonal)
    } else if var first {
      first.headers.dropCoding()
      failure.response = HandedResponse(
        status: first.status, headers: first.headers, requestTime: first.requestTime,
        responseTime: first.responseTime, body: Data(), rest: nil, to: given)
    }
    return failure
  }

  /// Leaves the body to the client that takes the response. The beginning of one that `isShort`,
  /// which several may share, is received first; nil if it broke off.
  private func handedOn(
    _ response: Response, to given: Resource, isShort: Bool
  ) async -> HandedResponse? {
    // One call at a time: first this function's, then those of the client that takes the response.
    nonisolated(unsafe) var iterator = response.body.makeAsyncIterator()
    let next: @Sendable () async throws -> Data? = { [requests, silence] in
      // The exchange is over before the rest.
      let deadline = Deadline()
      deadline.expect(within: requests.origin.silenceTimeout)
      let bytes: Data?
      do {
        bytes = try await deadline.run {
          let bytes = try await iterator.next(isolation: nil)
          // Some sequences end early without an error when their task is cancelled.
          try Task.checkCancellation()
          return bytes
        }
      } catch {
        throw deadline.end == .passed ? silence : error
      }
      requests.countReceived(bytes?.count ?? 0)
      await requests.origin.keepPace(after: bytes?.count ?? 0)
      return bytes
    }
    var (body, isWhole) = (Data(), false)
    do {
      while isShort, !isWhole, body.count <= HandedResponse.longestBody {
        if let chunk = try await next() { body += chunk } else { isWhole = true }
      }
    } catch {
      return nil
    }
    return HandedResponse(
      status: response.status, headers: response.headers, requestTime: response.requestTime,
      responseTime: response.responseTime, body: body, rest: isWhole ? nil : next, to: given)
  }
}

extension OriginExchange.Response {
  var isUseful: Bool {
    WholeResponse.statuses.contains(status) || [206, 304, 416].contains(status)
  }

  var decoder: DocumentDecoder? {
    guard let coding = headers["Content-Encoding"],
      request.isForDocument(mimeType: MediaType.essence(headers["Content-Type"]))
    else { return nil }
    return request.documents?.decoder(of: coding)
  }

  mutating func describeStation() throws(MediaCacheError) {
    isLive = ICYFields.isLive(headers)
    hasEnd = !isLive || headers.bodyLength != nil
    guard ICYFields.isAsked(request.headers) else { return }
    guard WholeResponse.statuses.contains(status) else { return headers["icy-metaint"] = nil }
    metadataInterval = try ICYFields.takeInterval(&headers)
    // The length counts the metadata too, so that the length of the audio is unknown.
    if metadataInterval != nil { headers["Content-Length"] = nil }
  }

  /// Iterates over the body: `note` receives its metadata, before the audio that it applies to.
  func audio(
    _ note: @Sendable @escaping (ICYMetadata) -> Void
  ) -> any AsyncIteratorProtocol<Data, any Error> {
    let all = body.makeAsyncIterator()
    guard isLive || metadataInterval != nil else { return all }
    let demultiplexer = metadataInterval.map { ICYDemultiplexer(interval: $0) }
    return AudioBody(body: all, demultiplexer: demultiplexer, hasEnd: hasEnd, note: note)
  }
}

extension OriginRequest {
  func isForDocument(mimeType: String?) -> Bool {
    documents?.isDocument(mimeType: mimeType, url: url) == true || expectsDocument
  }
}

extension HeaderFields {
  /// Removes what describes an encoded body. Its validators remain: they identify the version.
  mutating func dropCoding() {
    for name in [
      "Content-Encoding", "Content-Length", "Transfer-Encoding", "Content-MD5", "Content-Digest",
      "Repr-Digest", "Digest", "Accept-Ranges",
    ] {
      self[name] = nil
    }
  }
}

extension MediaCacheError {
  static let endedEarly = MediaCacheError(
    .unreachable, "The origin ended its response before sending all of it.", remedy: "Try again.")
}

private struct AudioBody: AsyncIteratorProtocol {
  var body: any AsyncIteratorProtocol<Data, any Error>
  var demultiplexer: ICYDemultiplexer?
  let hasEnd: Bool
  let note: @Sendable (ICYMetadata) -> Void

  mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
    guard let chunk = try await body.next(isolation: actor) else {
      if hasEnd, demultiplexer?.isBetweenBlocks != false { return nil }
      throw MediaCacheError.endedEarly
    }
    guard let (audio, metadata) = demultiplexer?.take(chunk) else { return chunk }
    for block in metadata { note(block) }
    return audio
  }
}
