// SPDX-License-Identifier: MIT
import Foundation

/// Follows redirects from the request to the final response.
extension OriginExchange {
  func follow(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    if usesShortcut, let earlier = asked.chain(for: resource) {
      let chain = RedirectPolicy(request: request, after: earlier, at: origin.now.wall)
      do {
        if let response = try await follow(chain, for: resource, isShortcut: true) {
          return response
        }
      } catch {
        // Also after a timeout: the next attempt follows the chain.
        asked.note(nil, for: resource)
        if Task.isCancelled { throw error }
      }
    }
    asked.note(nil, for: resource)
    let chain = RedirectPolicy(request: request)
    guard let response = try await follow(chain, for: resource, isShortcut: false) else {
      throw CancellationError()
    }
    return response
  }

  /// - Parameter isShortcut: whether the request goes to the end of an earlier chain.
  /// - Returns: nil if that end has nothing of the resource any more, so that the chain has to be
  ///   followed again.
  private func follow(
    _ start: RedirectPolicy, for resource: Resource, isShortcut: Bool
  ) async throws -> Response? {
    var chain = start
    var first: ErrorResponse?
    var statedLength: Int64?
    while true {
      let response = try await ask(chain.request, for: resource)
      if isShortcut, !Self.isUseful(response.status) {
        try await drain(response)
        return nil
      }
      let isFirst = chain.redirections.isEmpty
      let isRedirect: Bool
      do throws(MediaCacheError) {
        isRedirect = try goOn(&chain, after: response, for: resource)
      } catch {
        guard keepsErrors else { throw error }
        var error = error
        error.response = isFirst ? await kept(response) : first
        throw error
      }
      if isRedirect {
        if isFirst, keepsErrors, Self.isShort(response) {
          first = await kept(response)
        }
        if first == nil || !isFirst { try await drain(response) }
        continue
      }
      switch judge(response) {
      case .response(var received):
        if !isShortcut, !isFirst, !isForRequesterAlone(received) {
          received = origin.redirected.noting(received)
        }
        received.redirections = chain.redirections
        received.redirect = first
        received.statedLength = statedLength
        if Self.isUseful(response.status) {
          asked.note(chain.redirections.isEmpty ? nil : chain, for: resource)
        }
        return received
      case .askAgain(let fields):
        statedLength = response.totalLength ?? statedLength
        for field in fields { chain.drop(field) }
      }
    }
  }

  /// Follows a redirect; returns false if the response is none.
  private func goOn(
    _ chain: inout RedirectPolicy, after response: Response, for resource: Resource
  ) throws(MediaCacheError) -> Bool {
    let next = try chain.follow(
      status: response.status, headers: response.headers, askedAt: response.requestTime,
      at: response.responseTime)
    guard let next else { return false }
    try resource.filter?.check(next.url, status: response.status)
    try checkIsForEverybody(response)
    resource.filter?.noteReference(to: next.url, from: resource.url)
    return true
  }

  /// Throws if a redirect is for the requester alone, who then has to follow it: a shared cache stores
  /// nothing behind it (RFC 9111 §3).
  private func checkIsForEverybody(_ response: Response) throws(MediaCacheError) {
    guard keepsErrors, isForRequesterAlone(response) else { return }
    throw MediaCacheError(
      .redirect,
      "The redirect of \(response.url.host() ?? "the origin") is for its requester alone.",
      remedy: "Follow the redirect, or let the origin permit shared caches to store it.",
      status: response.status)
  }

  /// Whether no other client of a shared cache may receive the response (RFC 9111 §3).
  private func isForRequesterAlone(_ response: Response) -> Bool {
    guard origin.isShared else { return false }
    return Freshness(
      status: response.status, headers: response.headers, requestTime: response.requestTime,
      responseTime: response.responseTime, keeper: response.keeper(isShared: true)
    ).noStore
  }

  /// Whether a status comes from the resource itself.
  private static func isUseful(_ status: Int) -> Bool {
    WholeResponse.statuses.contains(status) || [206, 304, 416].contains(status)
  }

  private func ask(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    var request = request
    request.requiresPublicAddress =
      resource.filter?.requiresPublicAddress(of: request.url) ?? false
    try resource.filter?.check(request.url)
    if let rest = origin.rests.rest(of: resource, at: origin.now) {
      return unasked(request, for: resource, rest)
    }
    if let response = redirected(request, for: resource) { return response }
    let given = asked.given(for: resource)
    expectHead()
    traffic.countRequest()
    let requestTime = origin.now.wall
    let response = try await send(request, for: resource)
    resource.observer?.received(response.headers, from: request.url)
    rest()
    origin.rests.note(
      resource, status: response.status, headers: response.headers, at: origin.now)
    var received = Response(
      status: response.status, headers: response.headers, body: response.body,
      hasMore: response.hasMore, isDecoded: response.isDecoded, request: request,
      resource: resource, given: given, requestTime: requestTime, responseTime: origin.now.wall)
    received.wasHeldBack = isHeldBack
    received.headers.dropNoCodings()
    received.droppedRange = headers["Range"] != nil && request.headers["Range"] == nil
    return try await decoded(received)
  }

  private func send(
    _ request: OriginRequest, for resource: Resource
  ) async throws -> OriginResponse {
    do {
      return try await origin.transport.send(request)
    } catch let error as TransportError where error.cause == .privateAddress {
      throw resource.filter?.refusal(error.reason) ?? error
    }
  }

  /// Repeats a response with which the origin asked for a pause, without a request.
  private func unasked(
    _ request: OriginRequest, for resource: Resource, _ rest: OriginRests.Rest
  ) -> Response {
    let now = origin.now.wall
    var response = Response(
      status: rest.status, headers: ["Retry-After": String(rest.seconds)],
      body: AsyncThrowingStream<Data, any Error> { $0.finish() }, request: request,
      resource: resource, requestTime: now, responseTime: now)
    response.isRepeated = true
    return response
  }

  /// Returns the response that a redirect to this resource has brought a moment ago; nil if there
  /// is none, or the request is to confirm stored bytes.
  private func redirected(_ request: OriginRequest, for resource: Resource) -> Response? {
    guard !isConfirmation, request.url == resource.url,
      var response = origin.redirected.take(for: request, at: origin.now.wall)
    else { return nil }
    (response.resource, response.request) = (resource, request)
    response.given = asked.given(for: resource)
    response.isRepeated = true
    return response
  }

  /// Reads a short body to its end, so that the connection can be reused; a failure shows on the
  /// next.
  private func drain(_ response: Response) async throws {
    guard Self.isShort(response) else { return }
    expectShortBody()
    for try await _ in response.body {}
    rest()
  }

  private static func isShort(_ response: Response) -> Bool {
    response.headers.bodyLength.map { $0 <= 16 << 10 } ?? false
  }

  // MARK: Asking otherwise

  private enum Judgment {
    case response(Response)
    /// The same request without these fields has a better response.
    case askAgain(without: [String])
  }

  private func judge(_ response: Response) -> Judgment {
    let sent = response.request.headers
    if Self.refusesFirstByte(response, sent) || refusesRange(response, sent)
      || Self.isPartOfEncodedDocument(response)
    {
      return .askAgain(without: HeaderFields.ofRange)
    }
    switch ICYAnswer(request: sent, status: response.status, headers: response.headers) {
    case .plain: return .response(Self.live(response, plainly: ICYAnswer.isAsked(sent)))
    case .interleaved(let interval): return .response(Self.live(response, interval))
    case .askAgain(let field): return .askAgain(without: [field])
    }
  }

  /// Whether an origin refuses a range from the first byte on, which is satisfiable unless the
  /// resource is empty (RFC 9110 §15.5.17). An origin that does not report an empty resource may
  /// have the bytes all the same.
  private static func refusesFirstByte(_ response: Response, _ sent: HeaderFields) -> Bool {
    guard response.status == 416, sent["Range"]?.hasPrefix("bytes=0-") == true else { return false }
    return response.headers.contentRange?.total != 0
  }

  /// Whether an origin that has never sent a range has no usable response to one: it refuses the
  /// range, or sends one without a valid Content-Range, with another, or with a length that
  /// contradicts it. A 403 is judged once the user's hook did not help (`exchange`).
  private func refusesRange(_ response: Response, _ sent: HeaderFields) -> Bool {
    guard let optionalRange, sent["Range"] != nil else { return false }
    let check = ResponseCheck(asked: optionalRange, known: nil)
    switch check.verdict(
      status: response.status, headers: response.headers, now: response.responseTime)
    {
    case .invalid, .beyondEnd(length: nil): return true
    case .failed(let error): return [400, 405, 501].contains(error.status)
    default: return false
    }
  }

  /// - Parameter plainly: nothing was interleaved though the request asked for it. A 304 may still
  ///   announce an interval, which does not apply to stored bytes.
  private static func live(
    _ response: Response, _ interval: Int64? = nil, plainly: Bool = false
  ) -> Response {
    var response = response
    if plainly { response.headers[ICYAnswer.interval] = nil }
    guard WholeResponse.statuses.contains(response.status) else { return response }
    response.isLive = ICYAnswer.isLive(response.headers)
    guard let interval else { return response }
    response.interval = interval
    // The length counts the metadata too, so that the length of the audio is unknown.
    response.hasInterleavedLength = response.headers.bodyLength != nil
    response.headers = ICYAnswer.plainHeaders(response.headers)
    return response
  }
}

extension OriginExchange.Response {
  /// The URL that responded.
  var url: URL { request.url }

  func keeper(isShared: Bool, isSecret: Bool = false) -> Freshness.Keeper {
    Freshness.Keeper(
      isShared: isShared, isAuthorized: resource.headers["Authorization"] != nil,
      hasCookies: resource.headers["Cookie"] != nil, isSecret: isSecret,
      wasHeldBack: wasHeldBack)
  }

  /// The length of the resource in Content-Range, unless it is that of its encoded bytes.
  fileprivate var totalLength: Int64? {
    headers.contentCodings.isEmpty ? headers.contentRange?.total : nil
  }
}
