// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// One request for an origin's resource, with the context of its response.
struct Exchange: Sendable {
  let delivery: Delivery
  let url: URL
  let session: StreamSession?
  /// Whether the proxy's own fields are for the host: a playlist of another one may have named it.
  let sendsOwnFields: Bool
  /// The request's fields that are for an origin, with those of the session.
  let fields: HeaderFields

  var service: ProxyService { delivery.service }
  var isHEAD: Bool { delivery.request.head.isHEAD }

  var resource: Resource {
    var resource = Resource(
      url: url, headers: service.originFields.forCache(fields, sendsOwn: sendsOwnFields))
    resource.filter = service.routes.filter(for: url)
    resource.observer = observer
    resource.policy = service.policy(of: url)
    return resource
  }

  /// Differs in a shared cache for each set of credentials (RFC 9111 §3.5).
  func key(of resource: Resource) -> CacheKey {
    let key = service.cache.key(for: resource)
    guard service.shared != nil else { return key }
    return Credentials.key(key, for: Resource(url: url, headers: fields))
  }

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

  /// Receives the origin's cookies; nil: they are not stored.
  var observer: ResponseObserver? {
    guard service.rules.origin == nil else { return nil }
    return session?.observer ?? service.cache.cookieObserver(of: beginning)
  }

  /// Returns the session in which a manifest's children are requested, which may import its
  /// variables; nil if they need nothing of this exchange.
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

  /// A player may send these for the manifest alone.
  private var inherited: HeaderFields { fields.grantingAccess }
}

extension Exchange {
  /// - Returns: the edited manifest, and where the client has to request it instead, in a session
  ///   that has begun; nil if the body is no manifest that can be edited.
  /// - Throws: `HTTPError`, if too many or too long references would have to change, or the
  ///   manifest is not in UTF-8: the original would lead clients past this proxy.
  func edit(
    manifest body: [UInt8], at base: URL, in stream: CacheKey
  ) async throws -> (ManifestRewriting.Rewritten, redirect: String?)? {
    let work = { @Sendable () throws(ManifestRewriting.TooLarge) in
      guard !Manifest.isWide(body) else { throw ManifestRewriting.TooLarge() }
      // Which resources a live manifest names again, before the client can request them.
      service.listings.note(
        body, of: url, at: base, in: stream, imported: session?.importable ?? [:], service.cache)
      return try rewrite(body, at: base)
    }
    let rewritten: ManifestRewriting.Rewritten?
    do throws(ManifestRewriting.TooLarge) {
      rewritten =
        Manifest.mayTakeLong(body) ? try await IOThreads.background.run(work) : try work()
      guard session?.define(rewritten?.variables ?? [:]) ?? true else {
        throw ManifestRewriting.TooLarge()
      }
    } catch {
      throw HTTPError(
        502,
        "The manifest is in UTF-16 or UTF-32, or has more references than this proxy can rewrite, "
          + "or too long ones. Play it from its origin.")
    }
    guard let rewritten else { return nil }
    if session == nil, let new = session(defining: rewritten.variables),
      let target = service.routes.target(for: url, session: new.id)
    {
      return (rewritten, target)
    }
    service.parts.insert(rewritten.parts, of: url, in: stream)
    service.parts.insert(growing: rewritten.growing)
    return (rewritten, nil)
  }

  private func rewrite(
    _ body: [UInt8], at base: URL
  ) throws(ManifestRewriting.TooLarge) -> ManifestRewriting.Rewritten? {
    let (target, routes) = (delivery.request.head.target, service.routes)
    var rewriting = ManifestRewriting(
      url: base, clientTarget: ProxyURL.splitAbsolute(target)?.target ?? target,
      removesSteering: routes.origin == nil, keepsPaths: routes.origin == nil
    ) { [id = session?.id] in routes.target(for: $0, from: base, session: id) }
    return try rewriting.rewrite(body, imported: session?.importable ?? [:])
  }

  /// Removes the fields that describe the original's bytes.
  static func describeEdited(_ fields: inout HeaderFields) {
    for name in [
      "Accept-Ranges", "Content-Length", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
      "ETag", "Last-Modified",
    ] {
      fields[name] = nil
    }
  }
}
