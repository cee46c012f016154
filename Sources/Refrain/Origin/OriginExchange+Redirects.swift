// SPDX-License-Identifier: MIT
import Foundation

/// What does not wait is not inlined: a task's memory holds the frames of all that it awaits.
extension OriginExchange {
  func follow(_ request: OriginRequest, for resource: Resource) async throws -> Response {
    if let shortcut = shortcut(request, resource) {
      // An error is that of a URL which need not be the resource's any more.
      if let response = try? await follow(shortcut, for: resource), response.isUseful {
        return response
      }
      try Task.checkCancellation()
    }
    requests.chain = nil
    return try await follow(RequestChain(request: request), for: resource)
  }

  @inline(never)
  private func shortcut(_ request: OriginRequest, _ resource: Resource) -> RequestChain? {
    guard wanted.usesShortcut, let (asked, earlier) = requests.chain, asked == resource else {
      return nil
    }
    return RequestChain(request: request, after: earlier, at: origin.now.wall)
  }

  private func follow(_ start: RequestChain, for resource: Resource) async throws -> Response {
    var chain = start
    while true {
      let response = try await send(chain, for: resource)
      guard RequestChain.isRedirect(response.status) else {
        if !chain.redirections.isEmpty, response.isUseful { requests.chain = (resource, chain) }
        return response
      }
      do throws(MediaCacheError) {
        try goOn(&chain, after: response)
      } catch {
        throw await keeping(response, in: error)
      }
      // The connection can be reused once a short body was read; an error ends no more.
      if let length = response.headers.bodyLength, length <= 16 << 10 {
        expectBody(isFirst: false)
        do { for try await _ in response.body {} } catch {}
        deadline.rest()
      }
    }
  }

  /// A redirect for the requester alone is left to a requester that can follow it: a shared cache
  /// stores nothing behind it (RFC 9111 §3).
  @inline(never)
  private func goOn(
    _ chain: inout RequestChain, after response: Response
  ) throws(MediaCacheError) {
    let resource = response.resource
    _ = try chain.follow(
      status: response.status, headers: response.headers, askedAt: response.requestTime,
      at: response.responseTime)
    try resource.filter?.check(chain.request.url, status: response.status)
    if origin.isShared, passesOnErrors(), response.isPersonal {
      throw MediaCacheError(
        .redirect, "The redirect is for its requester alone.", remedy: "Follow it.",
        status: response.status)
    }
    resource.filter?.noteReference(to: chain.request.url, from: resource.url)
  }

  private func send(_ chain: RequestChain, for resource: Resource) async throws -> Response {
    let asked = try asked(chain, for: resource)
    let requestTime = origin.now.wall
    let response: OriginResponse
    do {
      response = try await origin.transport.send(asked.chain.request)
    } catch let error as TransportError where error.cause == .privateAddress {
      throw resource.filter?.refusal(error.reason) ?? error
    }
    return try await decoded(received(response, to: asked, requestTime: requestTime))
  }

  @inline(never)
  private func asked(_ chain: RequestChain, for resource: Resource) throws -> Asked {
    var chain = chain
    let url = chain.request.url
    chain.request.requiresPublicAddress =
      resource.filter?.requiresPublicAddress(of: url) ?? false
    try resource.filter?.check(url)
    let given = requests.given(for: resource)
    chain.request.onInterim = { [onInterim] in onInterim($0, $1, given) }
    expectHead()
    requests.countRequest()
    return Asked(chain, for: resource, given: given)
  }

  @inline(never)
  private func received(
    _ response: OriginResponse, to asked: Asked, requestTime: Date
  ) throws(MediaCacheError) -> Response {
    asked.resource.observer?.received(response.headers, from: asked.chain.request.url)
    deadline.rest()
    var received = Response(
      status: response.status, headers: response.headers, body: response.body,
      hasMore: response.hasMore, isDecoded: response.isDecoded, asked: asked,
      droppedRange: !wanted.isWhole && asked.chain.request.headers["Range"] == nil,
      requestTime: requestTime, responseTime: origin.now.wall,
      wasHeldBack: asked.resource.policy.documents?.isHeldBack(asked.resource.url) ?? false)
    received.headers.dropNoCodings()
    try received.describeStation()
    return received
  }
}
