// SPDX-License-Identifier: MIT
import Foundation

/// Decodes documents that arrive compressed although every request asks for identity. Other
/// resources in a content coding are refused (`ResponseCheck`): ranges of them have other bytes.
///
/// A document is decoded as a whole, before anything of it is used: the response then has a known
/// length, and a body that ends too early is an error like a broken connection.
extension OriginExchange {
  /// Decodes whole documents in known codings; returns any other response as it is.
  func decoded(_ response: Response) async throws -> Response {
    guard WholeResponse.statuses.contains(response.status) else { return response }
    let decoder = response.isDecoded ? nil : response.decoder
    guard response.isDecoded || decoder != nil else { return response }
    let longest = response.request.documents?.longest ?? 0
    // Bytes that cannot be compressed become slightly longer.
    let limit = decoder == nil ? longest : longest + 64 << 10
    guard response.headers.bodyLength ?? 0 <= limit else { throw Self.tooLong(longest) }
    var body = Data()
    expectBody(isFirst: true)
    for try await chunk in response.body {
      guard Int64(body.count + chunk.count) <= limit else { throw Self.tooLong(longest) }
      body.append(chunk)
      expectBody(isFirst: false)
    }
    deadline.rest()
    if let decoder {
      do {
        body = try decoder(body, Int(longest))
      } catch {
        throw error == .tooLong ? Self.tooLong(longest) : Self.undecodable(response, error)
      }
    }
    var decoded = response
    decoded.hasMore = nil
    decoded.body = AsyncThrowingStream<Data, any Error> { [body] continuation in
      if !body.isEmpty { continuation.yield(body) }
      continuation.finish()
    }
    decoded.headers.dropCoding()
    decoded.headers.append("Content-Length", String(body.count))
    decoded.hasEnd = true
    return decoded
  }

  private static func undecodable(
    _ response: Response, _ fault: DocumentFault
  ) -> MediaCacheError {
    var error = MediaCacheError(
      .unreachable,
      "The compressed document of \(response.url.host() ?? "the origin") is damaged, or ends early.",
      remedy: "Repair the document, or turn off its compression at the origin.")
    error.retry = fault == .truncated ? .invalid : .permanent
    return error
  }

  private static func tooLong(_ longest: Int64) -> MediaCacheError {
    ResponseCheck.declined("more than \(longest >> 20) MiB")
  }
}

extension OriginExchange {
  /// Returns the error with the response that it reports, if a reader passes that on, or with the
  /// redirect to it if it is another origin's.
  func keeping(_ response: Response, in failure: MediaCacheError) async -> MediaCacheError {
    guard passesOnErrors() else { return failure }
    var failure = failure
    failure.response = await kept(response) ?? response.redirect
    return failure
  }

  /// Returns a response with the beginning of its body, for whoever passes it on; nil if nobody may.
  func kept(_ response: Response) async -> ErrorResponse? {
    // 416 is about the range, which is the cache's own. So is one range of a body in a coding. The
    // fields of another origin, such as cookies and challenges, are not for this one.
    guard let given = response.asked.given, response.status != 416, response.status != 206,
      !response.isDecoded,
      WebOrigin.isOne(of: response.url, response.resource.url)
    else { return nil }
    expectShortBody()
    defer { deadline.rest() }
    let reading = BodyReading(response.body, by: requests)
    var (body, isWhole) = (Data(), false)
    do {
      while !isWhole, body.count <= ErrorResponse.longestBody {
        if let chunk = try await reading.next() { body += chunk } else { isWhole = true }
      }
    } catch {
      // The body broke off, or nobody waits for it any more. The head has reported the error.
      return nil
    }
    // The request is over by then, but the origin's silence is limited all the same.
    let rest: @Sendable () async throws -> Data? = { [origin] in
      let deadline = Deadline()
      deadline.expect(within: origin.silenceTimeout)
      return try await deadline.run { try await reading.next() }
    }
    return ErrorResponse(
      status: response.status, headers: response.headers, requestTime: response.requestTime,
      responseTime: response.responseTime, body: body,
      rest: isWhole ? nil : rest, to: given)
  }
}

extension OriginExchange.Response {
  /// Whether the response comes from the resource itself.
  var isUseful: Bool {
    WholeResponse.statuses.contains(status) || [206, 304, 416].contains(status)
  }

  /// Whether reading all of the body holds up no further request.
  var isShort: Bool { headers.bodyLength.map { $0 <= 16 << 10 } ?? false }

  var decoder: DocumentDecoder? {
    guard let coding = headers["Content-Encoding"],
      request.isForDocument(mimeType: MediaType.essence(headers["Content-Type"]))
    else { return nil }
    return request.documents?.decoder(of: coding)
  }

  /// Takes the description of the body out of the `icy-` fields.
  mutating func describeStation() {
    metadataInterval = ICYFields.metadataInterval(
      request: request.headers, status: status, headers: headers)
    isLive = ICYFields.isLive(headers)
    hasEnd = !isLive || headers.bodyLength != nil
    // Stored bytes have no metadata between them.
    if ICYFields.isAsked(request.headers) { headers[ICYFields.interval] = nil }
    // The length counts the metadata too, so that the length of the audio is unknown.
    if metadataInterval != nil { headers["Content-Length"] = nil }
  }

  /// Iterates over the body without the metadata between its audio: `note` receives each block,
  /// before the audio that it applies to.
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
  /// Removes the fields that describe an encoded body, from a response whose body was decoded. Its
  /// validators remain: they identify the version, whose decoded bytes are always the same.
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

/// A body that first its request reads, then the client that takes it. One call at a time.
private actor BodyReading {
  private var iterator: any AsyncIteratorProtocol<Data, any Error>
  private let requests: EntryRequests

  init(_ body: any AsyncSequence<Data, any Error> & Sendable, by requests: EntryRequests) {
    (iterator, self.requests) = (body.makeAsyncIterator(), requests)
  }

  func next() async throws -> Data? {
    var iterator = iterator
    defer { self.iterator = iterator }
    guard let bytes = try await iterator.next(isolation: self) else {
      // Some sequences end early without an error when their task is cancelled.
      try Task.checkCancellation()
      return nil
    }
    requests.countReceived(bytes.count)
    await requests.origin.keepPace(after: bytes.count)
    return bytes
  }
}

private struct AudioBody: AsyncIteratorProtocol {
  var body: any AsyncIteratorProtocol<Data, any Error>
  var demultiplexer: ICYDemultiplexer?
  let hasEnd: Bool
  let note: @Sendable (ICYMetadata) -> Void

  mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
    guard let chunk = try await body.next(isolation: actor) else {
      guard hasEnd, demultiplexer?.isBetweenBlocks != false else {
        throw MediaCacheError.endedEarly
      }
      return nil
    }
    guard let (audio, metadata) = demultiplexer?.take(chunk) else { return chunk }
    for block in metadata { note(block) }
    return audio
  }
}
