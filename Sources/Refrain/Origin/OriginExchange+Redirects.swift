// SPDX-License-Identifier: MIT
import Foundation

/// Follows redirects. A task's memory holds the frames of all functions that it awaits: the large
/// ones that do not wait are not inlined.
extension OriginExchange {
  func follow(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    var chain = RequestChain(request: request)
    var isShortcut = false
    if wanted.usesShortcut, let earlier = requests.chain(for: resource) {
      chain = RequestChain(request: request, after: earlier, at: origin.now.wall)
      isShortcut = true
    } else {
      requests.forgetChain()
    }
    var redirect: ErrorResponse?
    while true {
      let found: Response? =
        if isShortcut {
          try await response(to: chain, for: resource)
        } else {
          try await send(chain, for: resource)
        }
      guard var response = found else {
        (chain, isShortcut) = (RequestChain(request: request), false)
        continue
      }
      let isFirst = chain.redirections.isEmpty
      if RequestChain.isRedirect(response.status) {
        let passesOn = passesOnErrors()
        do throws(MediaCacheError) {
          try goOn(&chain, after: response, for: resource, passesOn)
        } catch {
          var error = error
          if isFirst, passesOn { redirect = await kept(response) }
          error.response = redirect
          throw error
        }
        if isFirst, passesOn, response.isShort {
          redirect = await kept(response)
        } else {
          try await drain(response)
        }
        continue
      }
      if chain.leaveOut(after: response, optionalRange: wanted.optionalRange) { continue }
      if !isFirst, Self.isUseful(response.status) { requests.note(chain, for: resource) }
      response.redirect = redirect
      return response
    }
  }

  /// Returns the response from the end of an earlier chain; nil if that has lost the resource.
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

  /// Follows a redirect. One for the requester alone is left to a requester that can follow it: a
  /// shared cache stores nothing behind it (RFC 9111 §3).
  @inline(never)
  private func goOn(
    _ chain: inout RequestChain, after response: Response, for resource: Resource,
    _ passesOn: Bool
  ) throws(MediaCacheError) {
    let next = try chain.follow(
      status: response.status, headers: response.headers, askedAt: response.requestTime,
      at: response.responseTime)
    guard let next else { return }
    try resource.filter?.check(next.url, status: response.status)
    if origin.isShared, passesOn,
      // No other client may receive it.
      Freshness(
        status: response.status, headers: response.headers, requestTime: response.requestTime,
        responseTime: response.responseTime, keeper: response.keeper(isShared: true)
      ).noStore
    {
      throw MediaCacheError(
        .redirect,
        "The redirect of \(response.url.host() ?? "the origin") is for its requester alone.",
        remedy: "Follow the redirect, or let the origin permit shared caches to store it.",
        status: response.status)
    }
    resource.filter?.noteReference(to: next.url, from: resource.url)
  }

  private func send(_ chain: RequestChain, for resource: Resource) async throws -> Response {
    var chain = chain
    let url = chain.request.url
    chain.request.requiresPublicAddress =
      resource.filter?.requiresPublicAddress(of: url) ?? false
    try resource.filter?.check(url)
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
    var received = Response(
      status: response.status, headers: response.headers, body: response.body,
      hasMore: response.hasMore, isDecoded: response.isDecoded,
      asked: Asked(chain, for: resource, given: given),
      droppedRange: !wanted.isWhole && chain.request.headers["Range"] == nil,
      requestTime: requestTime, responseTime: origin.now.wall, wasHeldBack: isHeldBack)
    received.headers.dropNoCodings()
    received.describeStation()
    return received
  }

  /// Reads a short body to its end, so that the connection can be reused.
  private func drain(_ response: Response) async throws {
    guard response.isShort else { return }
    expectShortBody()
    for try await _ in response.body {}
    deadline.rest()
  }
}
