// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
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

  /// Passes interim responses on (RFC 9110 §15.2); nil if there are many origins.
  var onInterim: (@Sendable (Int, HeaderFields) -> Void)? {
    if service.fields.isForManyOrigins { return nil }
    // An entry may outlive the client whose request opened it.
    return { [fields = service.fields, weak delivery] status, headers in
      delivery?.sendInterim(status, fields.passable(headers))
    }
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
  /// Sends a manifest whose references lead through this proxy, or a redirect to where a session
  /// begins with it. Returns false if it needs no change, or is none. Throws `HTTPError` if it would
  /// have to change and cannot: the original would lead clients past this proxy.
  ///
  /// - Parameters:
  ///   - isFiltered: whether the body is for the time being, and clients must not keep it.
  ///   - isForAll: whether other clients receive the same one: of a live list, each version shows
  ///     which names came back, and versions for each client would show that of all names.
  ///   - fields: returns those of the original.
  func send(
    manifest body: [UInt8], at base: URL, in stream: CacheKey, isFiltered: Bool = false,
    isForAll: Bool = true, _ fields: () -> HeaderFields
  ) async throws -> Bool {
    guard let rewritten = try await rewrite(body, at: base, in: stream, isForAll)
    else { return false }
    if session == nil, let new = session(defining: rewritten.variables),
      let target = service.routes.target(for: url, session: new.id)
    {
      try await redirect(to: target)
      return true
    }
    service.parts.insert(rewritten.parts, of: url, in: stream)
    service.parts.insert(growing: rewritten.growing)
    guard rewritten.isChanged || isFiltered else { return false }
    var fields = fields()
    // Those that describe the original's bytes.
    for name in [
      "Accept-Ranges", "Content-Length", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
      "ETag", "Last-Modified",
    ] {
      fields[name] = nil
    }
    if isFiltered { (fields["Expires"], fields["Cache-Control"]) = (nil, "no-cache") }
    let length = Int64(rewritten.body.count)
    try await delivery.send(ResponseHead(status: 200, fields: fields), length: length) {
      try await delivery.write(ByteBuffer(bytes: rewritten.body))
    }
    return true
  }

  /// Returns nil if the body is no manifest that can be edited.
  private func rewrite(
    _ body: [UInt8], at base: URL, in stream: CacheKey, _ isForAll: Bool
  ) async throws(HTTPError) -> ManifestRewriting.Rewritten? {
    let (target, routes) = (delivery.request.head.target, service.routes)
    let imported = session?.importable ?? [:]
    let work = {
      @Sendable () throws(ManifestRewriting.TooLarge) -> ManifestRewriting.Rewritten? in
      guard !Manifest.isWide(body) else { throw ManifestRewriting.TooLarge() }
      var rewriting = ManifestRewriting(
        url: base, clientTarget: ProxyURL.splitAbsolute(target)?.target ?? target,
        removesSteering: routes.origin == nil, keepsPaths: routes.origin == nil
      ) { [id = session?.id] in routes.target(for: $0, from: base, session: id) }
      let rewritten = try rewriting.rewrite(body, imported: imported)
      // Which resources a live manifest names again, before the client can request them.
      if isForAll {
        service.listings.note(
          body, of: url, at: base, in: stream, isComplete: rewritten?.isComplete == true,
          imported: imported, service.cache)
      }
      return rewritten
    }
    do throws(ManifestRewriting.TooLarge) {
      let rewritten =
        Manifest.mayTakeLong(body) ? try await IOThreads.background.run(work) : try work()
      guard session?.define(rewritten?.variables ?? [:]) ?? true else {
        throw ManifestRewriting.TooLarge()
      }
      return rewritten
    } catch {
      throw HTTPError(
        502,
        "The manifest is in UTF-16 or UTF-32, or has more references than this proxy can rewrite, "
          + "or too long ones. Play it from its origin.")
    }
  }
}
