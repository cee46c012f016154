// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// One request for an origin's resource, with the context of its response.
struct Exchange: Sendable {
  let delivery: Delivery
  let url: URL
  /// The session of the stream to which the URL belongs.
  let session: StreamSession?
  /// Whether the proxy's own fields are for the URL's host. A playlist of another host may have
  /// named it.
  let sendsOwnFields: Bool
  /// The request's fields that are for an origin, with those of the session.
  let fields: HeaderFields

  var service: ProxyService { delivery.service }
  var isHEAD: Bool { delivery.request.head.isHEAD }

  /// The resource requested from the cache.
  var resource: Resource {
    var resource = Resource(
      url: url, headers: service.originFields.forCache(fields, sendsOwn: sendsOwnFields))
    resource.filter = service.routes.filter(for: url)
    resource.observer = observer
    resource.policy = service.policy(of: url)
    return resource
  }

  /// Returns the key of the response: in a shared cache another one for each set of credentials
  /// (RFC 9111 §3.5).
  func key(of resource: Resource) -> CacheKey {
    let key = service.cache.key(for: resource)
    guard service.shared != nil else { return key }
    return Credentials.key(key, for: Resource(url: url, headers: fields))
  }

  /// Whether the response may be personal: the request has cookies, and the cache serves several
  /// people.
  func isPersonal(_ resource: Resource) -> Bool {
    service.shared != nil && resource.headers["Cookie"] != nil
  }

  /// Responds with a redirect.
  func redirect(to location: String) async throws {
    try await delivery.send(
      ProxyResponse(status: 302, fields: ["Location": location, "Cache-Control": "no-cache"]))
  }
}

/// The session that begins with a request for a manifest.
extension Exchange {
  /// Notices that another process has removed the session that this request would continue.
  func noticeRemoval() async {
    guard session == nil, service.sessions.begun(with: inherited, for: url) != nil else { return }
    await service.sessions.refresh()
  }

  /// Receives the cookies of the origin's responses; nil: they are not stored.
  var observer: ResponseObserver? {
    guard service.rules.origin == nil else { return nil }
    return session?.observer ?? service.cache.cookieObserver(of: beginning)
  }

  /// Returns the session in which a manifest's children are requested; nil if they need nothing of
  /// this exchange.
  ///
  /// - Parameter variables: those of the manifest, which its children may import.
  func session(defining variables: [String: String] = [:]) -> StreamSession? {
    guard service.rules.origin == nil else { return nil }
    let (sessions, inherited, own) = (service.sessions, inherited, service.originFields.own)
    let cookies = service.cache.cookies(of: beginning)
    guard
      !variables.isEmpty || !inherited.isEmpty
        // A playlist may name hosts for which the proxy's own fields are not meant.
        || own != own.harmless
        || !cookies.all(at: service.cache.now.wall).isEmpty
        || sessions.begun(with: inherited, for: url) != nil
    else { return nil }
    let session = sessions.begin(with: inherited, for: url, cookies)
    session.define(variables)
    return session
  }

  private var beginning: Resource { Resource(url: url, headers: inherited) }

  /// The fields of the request that grant access. A player may send them for the manifest alone.
  private var inherited: HeaderFields { fields.grantingAccess }
}
