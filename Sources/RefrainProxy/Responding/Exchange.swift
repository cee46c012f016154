// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// One request with the context of its response.
struct Exchange: Sendable {
  let service: ProxyService
  let request: ClientRequest
  let writer: ResponseWriter
  let report: AnswerReport
  let url: URL
  /// The session of the stream to which the URL belongs.
  let session: StreamSession?
  /// Whether the proxy's own fields are for the URL's host. A playlist of another host may have
  /// named it.
  let sendsOwnFields: Bool
  /// The target as received.
  let target: String
  /// The request's fields that are for an origin, with those of the session.
  let fields: HeaderFields
  /// What the client receives in place of a stored response.
  var relaying = Relaying.request(.method)

  enum Relaying: Sendable {
    /// The origin's response to this request, which does not come from the cache for this reason
    /// (RFC 9211 §2.2).
    ///
    /// `asksWhole`: whether to request all of the resource despite the client's Range.
    case request(CacheStatus.Forwarded, asksWhole: Bool = false)
    /// The origin's error response, received in place of the resource: no further request is made.
    ///
    /// `isJoined`: whether another client has received it, whose request this one shared.
    case received(ErrorResponse, isJoined: Bool)
  }

  /// Whether the method is GET or HEAD, without a body.
  var isRead: Bool {
    let head = request.head
    return (head.isGET || head.isHEAD) && [.none, .length(0)].contains(head.framing)
  }

  /// The path and query of the request's target.
  var clientTarget: String {
    target.hasPrefix("/") ? target : ProxyURL.splitAbsolute(target)?.target ?? "/"
  }
}

extension Exchange {
  /// Records the playlists that the response names (`VariantChains`).
  ///
  /// - Throws: `HTTPError`, if a client would follow them for ever.
  func noteChain(naming playlists: Set<UInt64>) throws(HTTPError) {
    let now = service.cache.now.uptime
    guard service.chains.insert(url, naming: playlists, at: now) else {
      throw HTTPError(
        508,
        "The playlist leads back to itself, or to one playlist after another, through its "
          + "variants or segments. Check the stream's first playlist.")
    }
  }
}

extension Exchange {
  /// The resource requested from the cache.
  var resource: Resource {
    var resource = Resource(
      url: url, headers: service.originFields.forCache(fields, sendsOwn: sendsOwnFields))
    resource.filter = service.routes.filter(for: url)
    resource.observer = observer
    resource.policy = service.policy(of: url)
    return resource
  }

  /// Returns the request as it goes on to the origin.
  func relaying(_ relaying: Relaying) -> Exchange {
    var exchange = self
    exchange.relaying = relaying
    return exchange
  }

  /// Responds with a redirect.
  func redirect(to location: String) async throws {
    var fields: HeaderFields = [
      "Date": HTTPDate.format(Date()), "Location": location, "Cache-Control": "no-cache",
    ]
    service.fields.addWebOrigin(to: &fields)
    report.note { $0.status = 302 }
    try await writer.begin(ResponseHead(status: 302, fields: fields, body: .length(0)))
    try await writer.end()
  }
}

/// The facts recorded for the log while a response is sent.
final class AnswerReport: Sendable {
  struct Values: Sendable {
    var url: String?
    var status = 0
    var range: ByteRange?
    var bytesSent: Int64 = 0
    /// Those of them that were stored before the request.
    var bytesFromCache: Int64 = 0
    /// Whether the request is neither logged nor counted.
    var isSilent = false
    var source = ServedRequest.Source.proxy
    var error: String?
    /// Whether it shares a request to the origin.
    var isJoined = false
  }

  private let state = Mutex(Values())

  var values: Values { state.withLock { $0 } }

  func note(_ change: (inout Values) -> Void) {
    state.withLock { change(&$0) }
  }
}
