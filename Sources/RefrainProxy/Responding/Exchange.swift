// SPDX-License-Identifier: MIT
import Foundation
import Refrain
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
