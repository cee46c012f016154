// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOFoundationCompat
import Refrain
import RefrainStreams

/// The head of a response that a client receives from its origin.
struct PassedResponse: Sendable {
  var status: Int
  var headers: HeaderFields
  /// The part of the body that the client wants, which is then sent as a 206; nil: all of it.
  var part: ByteRange?
}

/// Relays responses that are not stored, or that the cache has received already (`pass`).
extension Exchange {
  func relay(_ reason: CacheStatus.Forwarded) async throws {
    let request = delivery.request.head
    let isSafe = request.isGET || request.isHEAD
    var fields = service.originFields.forRelay(fields, sendsOwn: sendsOwnFields)
    fields.addDefaults()
    if isSafe, Manifest.isNamed(mimeType: nil, url: url) {
      // A part of a manifest, or an encoded one, could not be rewritten.
      (fields["Range"], fields["If-Range"]) = (nil, nil)
      fields["Accept-Encoding"] = "identity"
    }
    delivery.note { $0.served.source = .relayed }
    guard !service.cache.isOffline else {
      throw HTTPError(504, "The cache is offline, and this response has to come from the origin.")
    }
    service.traffic.noteRelayedRequest()
    let response = try await ask(request, fields)
    observer?.received(response.headers, from: url)
    await invalidate(request.method, response)
    var parts: (any AsyncIteratorProtocol<Data, any Error>)? = response.body.makeAsyncIterator()
    let passed = PassedResponse(status: response.status, headers: response.headers)
    try await pass(passed, CacheStatus(forwarded: reason)) {
      guard let bytes = try await parts?.next(isolation: nil) else { return nil }
      service.traffic.noteRelayed(bytes.count)
      await service.cache.paceOrigin(bytes.count)
      return bytes
    }
  }

  private func ask(_ request: RequestHead, _ fields: HeaderFields) async throws -> OriginResponse {
    var relayed = OriginRequest(relaying: request.method, url: url, headers: fields)
    // The host's name must not lead to a private address.
    relayed.requiresPublicAddress = service.routes.filter(for: url).requiresPublicAddress(of: url)
    relayed.longestSilence = service.cache.longestSilence
    relayed.onInterim = onInterim
    if let length = request.contentLength {
      // Read from the client's connection as the origin accepts it.
      relayed.body = OriginRequest.Body(length: length) { [delivery] in
        guard let part = try await delivery.nextBodyPart() else { throw ClientDisconnected() }
        return Data(buffer: part, byteTransferStrategy: .noCopy)
      }
    }
    do {
      var response = try await service.cache.relayingTransport.send(relayed)
      response.headers.dropNoCodings()
      guard (200...599).contains(response.status) else {
        throw HTTPError(
          502, "\(url.host() ?? "The origin") answered \(response.status), not a final status.")
      }
      return response
    } catch let error as TransportError where error.cause == .privateAddress {
      throw HTTPError(403, "\(error.reason) \(AllowedHosts.remedy)")
    } catch let error as TransportError {
      throw MediaCacheError(error, .playback)
    }
  }

  // MARK: The response

  /// Passes on a response that the cache has received and does not store.
  func pass(_ response: HandedResponse, as passed: PassedResponse, isJoined: Bool) async throws {
    delivery.note { $0.served.source = .relayed }
    // The origin did not receive the client's condition, and confirms nothing.
    guard response.status != 304 || !delivery.request.head.isConditional else {
      throw HTTPError(502, "The origin answered 304 to a request without conditions.")
    }
    var passed = passed
    if response.rest == nil {
      passed.headers["Transfer-Encoding"] = nil
      passed.headers["Content-Length"] = String(response.body.count)
    }
    var beginning: Data? = response.body
    try await pass(passed, CacheStatus(forwarded: .uriMiss, isCollapsed: isJoined)) {
      if let bytes = beginning.take() { return bytes }
      return try await response.rest?()
    }
  }

  func pass(_ stored: SharedMemory.Response) async throws {
    let now = service.cache.now.wall
    let timeToLive = Int64(max(stored.freshness.remaining(at: now), 0).rounded(.down))
    var fields = passable(stored.fields, CacheStatus(timeToLive: timeToLive))
    fields["Age"] = String(ResponseFields.age(stored.freshness, at: now))
    delivery.note { $0.served.source = .hit }
    try await send(stored.status, fields, stored.body, length: Int64(stored.body.count)) {
      // The body above is sent.
      delivery.note { $0.served.bytesFromCache = Int64(stored.body.count) }
      return nil
    }
  }

  /// `next` returns more of the body after its beginning, nil at its end.
  private func send(
    _ status: Int, _ fields: HeaderFields, _ beginning: Data, length: Int64?,
    part: ByteRange = 0..<(.max), _ next: () async throws -> Data? = { nil }
  ) async throws {
    try await delivery.send(ResponseHead(status: status, fields: fields), length: length) {
      var (bytes, offset) = (beginning as Data?, Int64(0))
      while let chunk = bytes {
        let end = offset + Int64(chunk.count)
        let wanted = part.clamped(to: offset..<end)
        try await delivery.write(
          ByteBuffer(bytes: chunk.dropFirst(Int(wanted.lowerBound - offset)).prefix(wanted.count)))
        offset = end
        bytes = offset < part.upperBound ? try await next() : nil
      }
    }
  }

  private func passable(_ headers: HeaderFields, _ status: CacheStatus) -> HeaderFields {
    var fields = service.fields.passable(headers)
    fields["Location"] = fields["Location"].map {
      // A redirect that sets cookies begins a session if need be. The client does not receive them,
      // and may be led back to the same URL.
      let session = session ?? (headers.setsCookie ? self.session() : nil)
      return service.routes.rewritten(location: $0, of: url, session: session?.id)
    }
    #if os(Linux)
      // Digest covers the path (RFC 7616 §3.4.3), and a client would compute it for the proxy's.
      // libcurl answers the origin with Digest for a client's Basic credentials; URLSession does not.
      if service.fields.isForManyOrigins, Challenges.offerDigest(headers) {
        fields["WWW-Authenticate"] = "Basic realm=\"\(url.host() ?? "")\""
      }
    #endif
    fields = service.fields.completed(fields)
    service.fields.add(status, to: &fields)
    return fields
  }

  /// `next` returns more of the body, nil at its end.
  private func pass(
    _ response: PassedResponse, _ cacheStatus: CacheStatus, _ next: () async throws -> Data?
  ) async throws {
    var fields = passable(response.headers, cacheStatus)
    var length = response.headers.bodyLength
    var isOver = false
    var beginning = Data()
    var isManifest = mayBeManifest(response)
    if isHEAD, isManifest == true {
      // Only the body would show the length of the edited one.
      (fields["ETag"], fields["Last-Modified"], length) = (nil, nil, nil)
    }
    // The client may leave while it is received.
    if isManifest != false { delivery.note { $0.served.status = response.status } }
    while !isHEAD, isManifest != false, beginning.count <= Manifest.longest {
      let bytes = try await next()
      isOver = bytes == nil
      beginning += bytes ?? Data()
      isManifest =
        isManifest
        ?? Manifest.isBeginning(
          Array(beginning.prefix(Manifest.longestBeginning)), isWhole: bytes == nil)
      guard bytes == nil, isManifest == true else { continue }
      // The whole manifest, whatever range was requested.
      fields["Content-Range"] = nil
      let stream = service.stream(of: url, recorded: nil)
      let isSent = try await send(
        manifest: Array(beginning), at: url, in: stream, isForAll: !service.sharing.isShared
      ) { fields }
      if isSent { return }
      return try await send(200, fields, beginning, length: Int64(beginning.count))
    }
    if let part = response.part { length = Int64(part.count) }
    try await send(
      response.part == nil ? response.status : 206, fields, beginning, length: length,
      part: response.part ?? 0..<(.max)
    ) { isOver ? nil : try await next() }
  }

  /// Returns true by type or name; nil if only its content can show it.
  func mayBeManifest(_ response: PassedResponse) -> Bool? {
    let content = response.headers.contentRange
    guard delivery.request.head.isGET || isHEAD, response.headers.contentCodings.isEmpty,
      WholeResponse.statuses.contains(response.status)
        // The whole resource as the range that ffmpeg and mpv request (`bytes=0-`).
        || response.status == 206 && content?.range == 0..<(content?.total ?? .max)
    else { return false }
    let type = response.headers["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased()
    if Manifest.isNamed(mimeType: type, url: url) { return true }
    return Manifest.mayBeUnnamed(mimeType: type, length: response.headers.bodyLength) ? nil : false
  }

  /// Applies to unsafe requests that succeeded (RFC 9111 §4.4).
  private func invalidate(_ method: String, _ response: OriginResponse) async {
    guard !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method),
      (200..<400).contains(response.status)
    else { return }
    var resource = Resource(url: url)
    resource.filter = service.routes.filter(for: url)
    let cache = service.cache
    service.sharing.memory?.noteChange(of: cache.key(for: resource), at: cache.now.wall)
    // If it cannot be opened, no usable response is stored.
    try? await cache.invalidate(resource)
  }
}
