// SPDX-License-Identifier: MIT
import Foundation

/// Follows redirects from the request to the final response.
///
/// A task's memory holds the frames of all functions that it awaits: the large ones that do not wait
/// are not inlined.
extension OriginExchange {
  func follow(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    var chain = RequestChain(request: request)
    var next: Response?
    var isShortcut = false
    if wanted.usesShortcut, let earlier = requests.chain(for: resource) {
      let shortcut = RequestChain(request: request, after: earlier, at: origin.now.wall)
      next = try await response(to: shortcut, for: resource)
      if next != nil { (chain, isShortcut) = (shortcut, true) }
    } else {
      requests.forgetChain()
    }
    var redirect: ErrorResponse?
    while true {
      let arrived = next.take()
      var response = if let arrived { arrived } else { try await send(chain, for: resource) }
      let isFirst = chain.redirections.isEmpty
      let isRedirect: Bool
      do throws(MediaCacheError) {
        isRedirect = try goOn(&chain, after: response, for: resource)
      } catch {
        guard passesOnErrors() else { throw error }
        var error = error
        error.response = isFirst ? await kept(response) : redirect
        throw error
      }
      if isRedirect {
        if isFirst, passesOnErrors(), response.isShort {
          redirect = await kept(response)
        } else {
          try await drain(response)
        }
        continue
      }
      if chain.leaveOut(after: response, optionalRange: wanted.optionalRange) {
        guard isShortcut else { continue }
        next = try await self.response(to: chain, for: resource)
        if next == nil { (chain, isShortcut) = (RequestChain(request: request), false) }
        continue
      }
      if !isFirst {
        if Self.isUseful(response.status) { requests.note(chain, for: resource) }
        if !isForRequesterAlone(response) { response = origin.keepingDocument(of: response) }
      }
      response.redirect = redirect
      return response
    }
  }

  /// Returns the response from the end of an earlier chain; nil if that has nothing of the resource any
  /// more.
  @inline(never)
  private func response(
    to shortcut: RequestChain, for resource: Resource
  ) async throws -> Response? {
    // An error is that of a URL which need not be the resource's any more.
    let response = try? await send(shortcut, for: resource)
    if let response, Self.isUseful(response.status) { return response }
    // Also after a timeout: the next attempt follows the chain.
    requests.forgetChain()
    // The chain's start is requested whatever becomes of this body.
    if let response { try? await drain(response) }
    try Task.checkCancellation()
    return nil
  }

  /// Whether a status comes from the resource itself.
  private static func isUseful(_ status: Int) -> Bool {
    WholeResponse.statuses.contains(status) || [206, 304, 416].contains(status)
  }

  /// Follows a redirect; returns false if the response is none. One for the requester alone is left to
  /// a requester that can follow it: a shared cache stores nothing behind it (RFC 9111 §3).
  @inline(never)
  private func goOn(
    _ chain: inout RequestChain, after response: Response, for resource: Resource
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

  private func send(_ chain: RequestChain, for resource: Resource) async throws -> Response {
    var chain = chain
    let url = chain.request.url
    chain.request.requiresPublicAddress =
      resource.filter?.requiresPublicAddress(of: url) ?? false
    try resource.filter?.check(url)
    if let response = repeated(chain, for: resource) { return response }
    let given = requests.given(for: resource)
    expectHead()
    requests.countRequest()
    let requestTime = origin.now.wall
    let response: OriginResponse
    do {
      response = try await origin.transport.send(chain.request)
    } catch let error as TransportError where error.cause == .privateAddress {
      throw resource.filter?.refusal(error.reason) ?? error
    }
    return try await decoded(
      received(response, to: chain, for: resource, given: given, requestTime: requestTime))
  }

  @inline(never)
  private func received(
    _ response: OriginResponse, to chain: RequestChain, for resource: Resource, given: Resource?,
    requestTime: Date
  ) -> Response {
    resource.observer?.received(response.headers, from: chain.request.url)
    deadline.rest()
    let now = origin.now
    origin.withMemory {
      $0.rests.note(resource, status: response.status, headers: response.headers, at: now)
    }
    var received = Response(
      status: response.status, headers: response.headers, body: response.body,
      hasMore: response.hasMore, isDecoded: response.isDecoded, chain: chain,
      resource: resource, given: given,
      droppedRange: !wanted.isWhole && chain.request.headers["Range"] == nil,
      requestTime: requestTime, responseTime: now.wall, wasHeldBack: isHeldBack)
    received.headers.dropNoCodings()
    received.describeStation()
    return received
  }

  /// Returns an earlier response in place of one to this request: that with which the origin asked for
  /// a pause, or that which a redirect to this resource has brought a moment ago. Nil if there is
  /// none; the latter confirms nothing that is stored.
  @inline(never)
  private func repeated(_ chain: RequestChain, for resource: Resource) -> Response? {
    let now = origin.now
    if let rest = origin.withMemory({ $0.rests.rest(of: resource, at: now) }) {
      return Response(
        status: rest.status, headers: ["Retry-After": String(rest.seconds)],
        body: AsyncThrowingStream<Data, any Error> { $0.finish() }, chain: chain,
        resource: resource, isRepeated: true, requestTime: now.wall, responseTime: now.wall)
    }
    let request = chain.request
    guard !wanted.isConfirmation, request.url == resource.url,
      var response = origin.withMemory({ $0.redirected.take(for: request, at: now.wall) })
    else { return nil }
    (response.resource, response.chain) = (resource, chain)
    response.given = requests.given(for: resource)
    response.isRepeated = true
    return response
  }

  /// Reads a short body to its end, so that the connection can be reused.
  private func drain(_ response: Response) async throws {
    guard response.isShort else { return }
    expectShortBody()
    for try await _ in response.body {}
    deadline.rest()
  }
}
