// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain
import RefrainStreams

/// Relays the origin's response unchanged, for responses that are not stored. The cache may have
/// received it already, for this request (`pass(_:isJoined:)`) or for an earlier one
/// (`pass(_:key:)`).
struct RelayedAnswer: Sendable {
  let exchange: Exchange
  /// Why the response does not come from the cache, in the terms of RFC 9211 §2.2.
  let reason: CacheStatus.Forwarded
  /// Whether to request all of the resource despite the client's Range: a range of an encoded body
  /// is of no use without the bytes before it.
  var asksWhole = false

  func run() async throws {
    let service = exchange.service
    let request = exchange.delivery.request.head
    var fields = service.originFields.forRelay(
      exchange.fields, sendsOwn: exchange.sendsOwnFields)
    fields.addDefaults()
    let isNamedManifest =
      (request.isGET || request.isHEAD) && Manifest.isNamed(mimeType: nil, url: exchange.url)
    if asksWhole || isNamedManifest {
      fields["Range"] = nil
      fields["If-Range"] = nil
    }
    // An encoded manifest could not be rewritten.
    if isNamedManifest, !asksWhole { fields["Accept-Encoding"] = "identity" }
    exchange.delivery.note { $0.source = .relayed }
    guard !service.cache.isOffline else {
      throw HTTPError(504, "The cache is offline, and this response has to come from the origin.")
    }
    let isSafe = request.isGET || request.isHEAD
    let resource = exchange.resource
    if isSafe, let rest = service.cache.rest(of: resource) { throw HTTPError(rest) }
    service.traffic.noteRelayedRequest()
    let response = try await send(request, fields)
    if isSafe {
      service.cache.noteRest(of: resource, status: response.status, headers: response.headers)
    }
    exchange.observer?.received(response.headers, from: exchange.url)
    await invalidate(request.method, response)
    await compare(resource, response)
    try await pass(response)
  }

  /// Sends the client's request to the origin, and streams its body there.
  private func send(
    _ request: RequestHead, _ fields: HeaderFields
  ) async throws -> OriginResponse {
    let cache = exchange.service.cache
    var relayed = RelayedRequest(method: request.method, url: exchange.url, headers: fields)
    // The host's name must not lead to a private address.
    relayed.requiresPublicAddress = exchange.service.routes.filter(for: exchange.url)
      .requiresPublicAddress(of: exchange.url)
    relayed.longestSilence = cache.longestSilence
    if !exchange.service.fields.isForManyOrigins {
      relayed.onInterim = { [fields = exchange.service.fields, writer = exchange.delivery.writer] in
        writer.interim($0, fields.passable($1))
      }
    }
    switch request.framing {
    case .none: break
    case .length(let length): relayed.body = body(length: Int64(length))
    case .chunked: relayed.body = body(length: nil)
    }
    do {
      var response = try await cache.relayingTransport.relay(relayed)
      response.headers.dropNoCodings()
      guard (200...599).contains(response.status) else {
        throw HTTPError(
          502,
          "\(exchange.url.host() ?? "The origin") answered \(response.status), not a final status.")
      }
      return response
    } catch let error as TransportError {
      throw Self.httpError(for: error)
    }
  }

  /// Returns the client's body, which is read from its connection as the origin accepts it.
  private func body(length: Int64?) -> RelayedRequest.Body {
    RelayedRequest.Body(length: length) { [writer = exchange.delivery.writer] in
      try await writer.nextBodyPart().map { Data(buffer: $0, byteTransferStrategy: .noCopy) }
    }
  }

  private static func httpError(for error: TransportError) -> HTTPError {
    switch error.code {
    case .badURL where error.cause == .privateAddress:
      HTTPError(403, "\(error.reason) \(AllowedHosts.remedy)")
    case .badURL: HTTPError(400, error.reason)
    case .timedOut: HTTPError(504, error.reason)
    case .unreachable where error.cause == .noDescriptors: HTTPError(503, error.reason)
    default: HTTPError(error.cause == .slowConnection ? 504 : 502, error.reason)
    }
  }

  // MARK: The response

  /// Passes on an error response that the cache has received in place of the resource: no further
  /// request is made.
  ///
  /// - Parameter isJoined: whether the request was shared with other clients.
  func pass(_ response: ErrorResponse, isJoined: Bool) async throws {
    exchange.delivery.note { record in
      record.source = .relayed
      record.isJoined = isJoined
    }
    // The origin did not receive the client's condition, and confirms nothing.
    guard response.status != 304 || !exchange.delivery.request.head.marks.contains(.conditional)
    else {
      throw HTTPError(502, "The origin answered 304 to a request without conditions.")
    }
    let length = response.rest == nil ? Int64(response.body.count) : response.headers.bodyLength
    var beginning: Data? = response.body
    try await send(
      response.status, fields(response.headers, forwarded(isJoined: isJoined)), length: length,
      isFetched: response.rest != nil
    ) {
      if let bytes = beginning.take(), !bytes.isEmpty { return bytes }
      return try await response.rest?()
    }
  }

  /// Passes on a response that answered an earlier request, and may be reused.
  func pass(_ stored: SmallResponses.Stored, key: CacheKey) async throws {
    let now = exchange.service.cache.now.wall
    var status = CacheStatus.hit
    status.timeToLive = Int64(max(stored.freshness.remaining(at: now), 0).rounded(.down))
    status.key = key.rawValue
    var fields = fields(stored.fields, status)
    fields["Age"] = String(AnswerFields.age(stored.freshness, at: now))
    exchange.delivery.note { $0.source = .hit }
    var body: Data? = stored.body
    try await send(stored.status, fields, length: Int64(stored.body.count)) {
      [delivery = exchange.delivery] in
      let bytes = body.take()
      if let bytes { delivery.note { $0.bytesFromCache = Int64(bytes.count) } }
      return bytes
    }
  }

  /// Sends a response.
  ///
  /// - Parameters:
  ///   - length: that of the body; nil: unknown.
  ///   - next: returns the next part of the body; nil at its end. Not called if none is sent.
  private func send(
    _ status: Int, _ fields: HeaderFields, length: Int64?, isFetched: Bool = false,
    _ next: () async throws -> Data?
  ) async throws {
    let head = ResponseHead(status: status, fields: fields, isFetched: isFetched)
    if try await exchange.delivery.begin(head, length: length) {
      while let bytes = try await next() { try await write(bytes) }
    }
    try await exchange.delivery.writer.end()
  }

  /// Returns those of the origin's fields that the client receives, and the proxy's own.
  private func fields(_ headers: HeaderFields, _ status: CacheStatus) -> HeaderFields {
    var fields = exchange.service.fields.passable(headers)
    fields["Location"] = fields["Location"].map {
      exchange.service.routes.rewritten(
        location: $0, of: exchange.url, session: session(behind: headers)?.id)
    }
    // Digest covers the path (RFC 7616 §3.4.3), and a client would compute it for the proxy's. The
    // transport answers the origin with Digest for a client's Basic credentials.
    if exchange.service.fields.isForManyOrigins, Challenges.offerDigest(headers) {
      fields["WWW-Authenticate"] = "Basic realm=\"\(exchange.url.host() ?? "")\""
    }
    exchange.service.fields.complete(&fields)
    exchange.service.fields.add(status, to: &fields)
    return fields
  }

  private func forwarded(isJoined: Bool = false) -> CacheStatus {
    var status = CacheStatus.forwarded(reason)
    status.isCollapsed = isJoined
    return status
  }

  /// Returns the session of the request to which a redirect leads: one that sets cookies begins a
  /// session if need be. The client does not receive them, and may be led back to the same URL.
  private func session(behind redirect: HeaderFields) -> StreamSession? {
    if let session = exchange.session { return session }
    guard redirect.setsCookie else { return nil }
    return exchange.session()
  }

  private func pass(_ response: OriginResponse) async throws {
    let fields = fields(response.headers, forwarded())
    if let isNamed = mayBeManifest(response) {
      // The client may leave while it is received.
      exchange.delivery.note { $0.status = response.status }
      return try await passManifest(response, fields, isNamed: isNamed)
    }
    var parts: any AsyncIteratorProtocol<Data, any Error> = response.body.makeAsyncIterator()
    try await send(
      response.status, fields, length: response.headers.bodyLength, isFetched: true
    ) {
      guard let bytes = try await parts.next(isolation: nil) else { return nil }
      await note(received: bytes)
      return bytes
    }
  }

  private func note(received bytes: Data) async {
    exchange.service.traffic.noteRelayed(bytes.count)
    await exchange.service.cache.paceOrigin(bytes.count)
  }

  private func write(_ bytes: Data) async throws {
    try await exchange.delivery.write(ByteBuffer(bytes: bytes))
  }

  // MARK: Manifests

  /// Returns whether the response is a manifest by its type or its name, or may be one by its
  /// content alone (false); nil if it is none.
  private func mayBeManifest(_ response: OriginResponse) -> Bool? {
    let isHEAD = exchange.isHEAD
    guard exchange.delivery.request.head.isGET || isHEAD, isWhole(response),
      response.headers.contentCodings.isEmpty
    else { return nil }
    let type = response.headers["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased()
    if Manifest.isNamed(mimeType: type, url: exchange.url) { return true }
    // The response to HEAD has no bytes that could show it.
    let length = response.headers.bodyLength
    return !isHEAD && Manifest.mayBeUnnamed(mimeType: type, length: length) ? false : nil
  }

  /// Whether a response brings the whole resource, also as the range that ffmpeg and mpv request
  /// (`bytes=0-`).
  private func isWhole(_ response: OriginResponse) -> Bool {
    guard response.status == 206 else {
      return WholeResponse.statuses.contains(response.status)
    }
    guard let content = response.headers.contentRange,
      let range = content.range
    else { return false }
    return range.lowerBound == 0 && range.upperBound == content.total
  }

  /// Passes a manifest with its references rewritten; one that is too long, and a resource that
  /// proves to be none, unchanged.
  ///
  /// - Parameter isNamed: whether the response is a manifest by its type or its name.
  private func passManifest(
    _ response: OriginResponse, _ fields: HeaderFields, isNamed: Bool
  ) async throws {
    let (delivery, length) = (exchange.delivery, response.headers.bodyLength)
    var head = ResponseHead(status: response.status, fields: fields, isFetched: true)
    if exchange.isHEAD {
      // Only the body would show the length of the edited one.
      head.fields["ETag"] = nil
      try await delivery.begin(head, length: nil)
      return try await delivery.writer.end()
    }
    var body = Data()
    var isRecognized = isNamed
    var isPassing = false
    for try await bytes in response.body {
      await note(received: bytes)
      if isPassing {
        try await write(bytes)
        continue
      }
      body += bytes
      let isManifest = isRecognized ? true : Self.isBeginning(body, isWhole: false)
      isRecognized = isManifest == true
      guard isManifest == false || body.count > Manifest.longest else { continue }
      isPassing = true
      try await delivery.begin(head, length: length)
      try await write(body)
    }
    if !isPassing {
      if isRecognized || Self.isBeginning(body, isWhole: true) == true {
        return try await send(body, fields)
      }
      try await delivery.begin(head, length: length)
      try await write(body)
    }
    try await delivery.writer.end()
  }

  private static func isBeginning(_ body: Data, isWhole: Bool) -> Bool? {
    Manifest.isBeginning(Array(body.prefix(Manifest.longestBeginning)), isWhole: isWhole)
  }

  private func send(_ body: Data, _ fields: HeaderFields) async throws {
    var fields = fields
    // The whole manifest, whatever range was requested.
    fields["Content-Range"] = nil
    var sent = body
    let editor = ManifestEditor(exchange: exchange, url: exchange.url)
    if let edited = try await editor.edit(Array(body)) {
      if let target = edited.redirection {
        return try await exchange.redirect(to: target)
      }
      if edited.isChanged {
        sent = Data(edited.body)
        ManifestEditor.describe(
          &fields, etag: ManifestEditor.etag(of: edited.body, original: fields["ETag"]))
      }
    }
    var rest: Data? = sent
    try await send(200, fields, length: Int64(sent.count), isFetched: true) { rest.take() }
  }

  // MARK: What it may have changed

  /// Invalidates the stored responses of an unsafe request's target, and of the URLs that its
  /// response names, if it succeeded (RFC 9111 §4.4).
  private func invalidate(_ method: String, _ response: OriginResponse) async {
    guard !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method),
      (200..<400).contains(response.status)
    else { return }
    var urls = [exchange.url]
    for name in ["Location", "Content-Location"] {
      guard let text = response.headers[name], let url = URL(text: text, relativeTo: exchange.url),
        url.host()?.lowercased() == exchange.url.host()?.lowercased(),
        url.port == exchange.url.port, url.scheme == exchange.url.scheme
      else { continue }
      urls.append(url)
    }
    for url in urls {
      var resource = Resource(url: url)
      resource.filter = exchange.service.routes.filter(for: url)
      let key = exchange.service.cache.key(for: resource)
      exchange.service.invalidations.insert(key, at: exchange.service.cache.now.wall)
      // If it cannot be opened, no usable response is stored.
      try? await exchange.service.cache.invalidate(resource)
    }
  }

  /// Compares the stored response with the relayed one, which may show that it is stale
  /// (RFC 9111 §4.3.5).
  private func compare(_ resource: Resource, _ response: OriginResponse) async {
    guard exchange.isHEAD || exchange.delivery.request.head.isGET,
      WholeResponse.statuses.contains(response.status),
      response.headers.contentCodings.isEmpty
    else { return }
    let policy = exchange.service.cachePolicy
    // A response to cookies is no evidence about the one stored for others.
    guard !policy.isPersonal(resource) else { return }
    let key = policy.key(for: resource, exchange.fields, of: exchange.service.cache)
    exchange.service.responses.remove(key)
    // If it cannot be opened, no usable response is stored.
    try? await exchange.service.cache.compare(resource, key: key, with: response.headers)
  }
}
