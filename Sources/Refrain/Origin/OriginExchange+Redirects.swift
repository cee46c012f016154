// SPDX-License-Identifier: MIT
import Foundation

/// Follows redirects from the request to the final response.
///
/// A task's memory holds the frames of all functions that it awaits: the large ones that do not wait
/// are not inlined.
extension OriginExchange {
  func follow(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    if let response = try await followShortcut(request, for: resource) { return response }
    requests.forgetChain()
    return try await follow(RedirectPolicy(request: request), for: resource, isShortcut: false)
  }

  /// Sends the request to the end of an earlier chain; nil if that has to be followed again.
  @inline(never)
  private func followShortcut(
    _ request: OriginRequest, for resource: Resource
  ) async throws -> Response? {
    guard wanted.usesShortcut, let earlier = requests.chain(for: resource) else { return nil }
    let chain = RedirectPolicy(request: request, after: earlier, at: origin.now.wall)
    do {
      return try await follow(chain, for: resource, isShortcut: true)
    } catch {
      // Also after a timeout: the next attempt follows the chain.
      requests.forgetChain()
      if Task.isCancelled { throw error is ChainIsOutdated ? CancellationError() : error }
      return nil
    }
  }

  /// The end of an earlier chain has nothing of the resource any more.
  private struct ChainIsOutdated: Error {}

  /// - Parameter isShortcut: whether the request goes to the end of an earlier chain.
  private func follow(
    _ start: RedirectPolicy, for resource: Resource, isShortcut: Bool
  ) async throws -> Response {
    var chain = start
    var first: ErrorResponse?
    var statedLength: Int64?
    while true {
      let response = try await send(chain.request, for: resource)
      if isShortcut, !Self.isUseful(response.status) {
        try await drain(response)
        throw ChainIsOutdated()
      }
      let isFirst = chain.redirections.isEmpty
      let isRedirect: Bool
      do throws(MediaCacheError) {
        isRedirect = try goOn(&chain, after: response, for: resource)
      } catch {
        guard passesOnErrors() else { throw error }
        var error = error
        error.response = isFirst ? await kept(response) : first
        throw error
      }
      if isRedirect {
        if isFirst, passesOnErrors(), Self.isShort(response) { first = await kept(response) }
        if first == nil || !isFirst { try await drain(response) }
        continue
      }
      let description = ICYAnswer(
        request: response.request.headers, status: response.status, headers: response.headers)
      let needless = needlessFields(of: response, description)
      guard needless.isEmpty else {
        // A length beside a coding is that of the encoded bytes.
        if response.headers.contentCodings.isEmpty, let total = response.headers.contentRange?.total
        {
          statedLength = total
        }
        for field in needless { chain.drop(field) }
        continue
      }
      var received = Self.live(response, description)
      if !isShortcut, !isFirst, !isForRequesterAlone(received) {
        received = origin.keepingDocument(of: received)
      }
      received.redirections = chain.redirections
      received.redirect = first
      received.statedLength = statedLength
      if Self.isUseful(response.status), !chain.redirections.isEmpty {
        requests.note(chain, for: resource)
      }
      return received
    }
  }

  /// Follows a redirect; returns false if the response is none. One for the requester alone is left to
  /// a requester that can follow it: a shared cache stores nothing behind it (RFC 9111 §3).
  @inline(never)
  private func goOn(
    _ chain: inout RedirectPolicy, after response: Response, for resource: Resource
  ) throws(MediaCacheError) -> Bool {
    let next = try chain.follow(
      status: response.status, headers: response.headers, askedAt: response.requestTime,
      at: response.responseTime)
    guard let next else { return false }
    try resource.filter?.check(next.url, status: response.status)
    if isForRequesterAlone(response), passesOnErrors() {
      throw MediaCacheError(
        .redirect,
        "The redirect of \(response.url.host() ?? "the origin") is for its requester alone.",
        remedy: "Follow the redirect, or let the origin permit shared caches to store it.",
        status: response.status)
    }
    resource.filter?.noteReference(to: next.url, from: resource.url)
    return true
  }

  /// Whether no other client of a shared cache may receive the response (RFC 9111 §3).
  @inline(never)
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

  private func send(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    var request = request
    request.requiresPublicAddress =
      resource.filter?.requiresPublicAddress(of: request.url) ?? false
    try resource.filter?.check(request.url)
    if let response = repeated(request, for: resource) { return response }
    let given = requests.given(for: resource)
    expectHead()
    requests.countRequest()
    let requestTime = origin.now.wall
    let response: OriginResponse
    do {
      response = try await origin.transport.send(request)
    } catch let error as TransportError where error.cause == .privateAddress {
      throw resource.filter?.refusal(error.reason) ?? error
    }
    return try await decoded(
      received(response, to: request, for: resource, given: given, requestTime: requestTime))
  }

  @inline(never)
  private func received(
    _ response: OriginResponse, to request: OriginRequest, for resource: Resource,
    given: Resource?, requestTime: Date
  ) -> Response {
    resource.observer?.received(response.headers, from: request.url)
    rest()
    let now = origin.now
    origin.withMemory {
      $0.rests.note(resource, status: response.status, headers: response.headers, at: now)
    }
    var received = Response(
      status: response.status, headers: response.headers, body: response.body,
      hasMore: response.hasMore, isDecoded: response.isDecoded, request: request,
      resource: resource, given: given,
      droppedRange: !wanted.isWhole && request.headers["Range"] == nil,
      requestTime: requestTime, responseTime: now.wall, wasHeldBack: isHeldBack)
    received.headers.dropNoCodings()
    return received
  }

  /// Returns an earlier response in place of one to this request: that with which the origin asked for
  /// a pause, or that which a redirect to this resource has brought a moment ago. Nil if there is
  /// none; the latter confirms nothing that is stored.
  @inline(never)
  private func repeated(_ request: OriginRequest, for resource: Resource) -> Response? {
    let now = origin.now
    if let rest = origin.withMemory({ $0.rests.rest(of: resource, at: now) }) {
      return Response(
        status: rest.status, headers: ["Retry-After": String(rest.seconds)],
        body: AsyncThrowingStream<Data, any Error> { $0.finish() }, request: request,
        resource: resource, isRepeated: true, requestTime: now.wall, responseTime: now.wall)
    }
    guard !wanted.isConfirmation, request.url == resource.url,
      var response = origin.withMemory({ $0.redirected.take(for: request, at: now.wall) })
    else { return nil }
    (response.resource, response.request) = (resource, request)
    response.given = requests.given(for: resource)
    response.isRepeated = true
    return response
  }

  /// Reads a short body to its end, so that the connection can be reused.
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

  /// Returns the fields without which the same request has a better response.
  @inline(never)
  private func needlessFields(of response: Response, _ description: ICYAnswer) -> [String] {
    if let range = response.request.headers["Range"],
      Self.refuses(range, response) || refusesRanges(response)
        || Self.isPartOfEncodedDocument(response)
    {
      return HeaderFields.ofRange
    }
    if case .askAgain(let field) = description { return [field] }
    return []
  }

  /// Whether an origin refuses a range from the first byte on, which is satisfiable unless the
  /// resource is empty (RFC 9110 §15.5.17). An origin that does not report an empty resource may
  /// have the bytes all the same.
  private static func refuses(_ range: String, _ response: Response) -> Bool {
    response.status == 416 && range.hasPrefix("bytes=0-")
      && response.headers.contentRange?.total != 0
  }

  /// Whether an origin that has never sent a range has no usable response to one: it refuses the
  /// range, or sends one without a valid Content-Range, with another, or with a length that
  /// contradicts it. A 403 is judged once the user's hook did not help (`exchange`).
  private func refusesRanges(_ response: Response) -> Bool {
    guard let optionalRange = wanted.optionalRange else { return false }
    let check = ResponseCheck(asked: optionalRange, known: nil)
    switch check.verdict(
      status: response.status, headers: response.headers, now: response.responseTime)
    {
    case .invalid, .beyondEnd(length: nil): return true
    case .failed(let error): return [400, 405, 501].contains(error.status)
    default: return false
    }
  }

  /// Returns a response as its `icy-` fields describe it.
  @inline(never)
  private static func live(_ response: Response, _ description: ICYAnswer) -> Response {
    var response = response
    if description == .plain, ICYAnswer.isAsked(response.request.headers) {
      // Nothing was interleaved though the request asked for it. A 304 may still announce an interval,
      // which does not apply to stored bytes.
      response.headers[ICYAnswer.interval] = nil
    }
    guard WholeResponse.statuses.contains(response.status) else { return response }
    response.isLive = ICYAnswer.isLive(response.headers)
    guard case .interleaved(let interval) = description else { return response }
    response.interval = interval
    // The length counts the metadata too, so that the length of the audio is unknown.
    response.hasInterleavedLength = response.headers.bodyLength != nil
    for name in [ICYAnswer.interval, "Content-Length"] { response.headers[name] = nil }
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
}
