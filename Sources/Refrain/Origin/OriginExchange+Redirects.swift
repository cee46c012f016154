// SPDX-License-Identifier: MIT
import Foundation

/// Follows redirects. A task's memory holds the frames of all functions that it awaits: the large
/// ones that do not wait are not inlined.
extension OriginExchange {
  /// Returns the response behind redirects, of which those of an earlier request are skipped if
  /// `FetchRequest.usesShortcut` says so.
  func follow(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    if wanted.usesShortcut, let earlier = requests.chain(for: resource) {
      let shortcut = RequestChain(request: request, after: earlier, at: origin.now.wall)
      // An error is that of a URL which need not be the resource's any more.
      if let response = try? await follow(shortcut, for: resource) {
        if response.isUseful { return response }
        await drain(response)
      }
      try Task.checkCancellation()
    }
    // The resource may be redirected elsewhere by now, or no more.
    requests.forgetChain()
    return try await follow(RequestChain(request: request), for: resource)
  }

  private func follow(_ start: RequestChain, for resource: Resource) async throws -> Response {
    var chain = start
    var redirect: ErrorResponse?
    while true {
      var response = try await send(chain, for: resource)
      if RequestChain.isRedirect(response.status) {
        let (passesOn, isFirst) = (passesOnErrors(), chain.redirections.isEmpty)
        do throws(MediaCacheError) {
          try goOn(&chain, after: response, for: resource, passesOn)
        } catch {
          var error = error
          error.response = isFirst && passesOn ? await kept(response) : redirect
          throw error
        }
        if isFirst, passesOn, response.isShort {
          redirect = await kept(response)
        } else {
          await drain(response)
        }
      } else if !chain.leaveOut(after: response, optionalRange: wanted.optionalRange) {
        if !chain.redirections.isEmpty, response.isUseful { requests.note(chain, for: resource) }
        response.redirect = redirect
        return response
      }
    }
  }

  /// Follows a redirect. One for the requester alone is left to a requester that can follow it: a
  /// shared cache stores nothing behind it (RFC 9111 §3).
  @inline(never)
  private func goOn(
    _ chain: inout RequestChain, after response: Response, for resource: Resource,
    _ passesOn: Bool
  ) throws(MediaCacheError) {
    _ = try chain.follow(
      status: response.status, headers: response.headers, askedAt: response.requestTime,
      at: response.responseTime)
    try resource.filter?.check(chain.request.url, status: response.status)
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
    resource.filter?.noteReference(to: chain.request.url, from: resource.url)
  }

  private func send(_ chain: RequestChain, for resource: Resource) async throws -> Response {
    var chain = chain
    let url = chain.request.url
    chain.request.requiresPublicAddress =
      resource.filter?.requiresPublicAddress(of: url) ?? false
    try resource.filter?.check(url)
    let given = requests.given(for: resource)
    chain.request.onInterim = { [onInterim] in onInterim($0, $1, given) }
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

  /// Reads a short body to its end, so that the connection can be reused. An error ends no more.
  private func drain(_ response: Response) async {
    guard response.isShort else { return }
    expectShortBody()
    defer { deadline.rest() }
    do { for try await _ in response.body {} } catch {}
  }
}
