// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Edits manifests for the client that requests them.
extension Exchange {
  /// - Parameters:
  ///   - base: the URL to which references are relative.
  ///   - stream: the key of the stream's first manifest.
  /// - Returns: the edited manifest, and where the client has to request it instead, in a session
  ///   that has begun; nil if the body is no manifest that can be edited.
  /// - Throws: `HTTPError`, if too many or too long references would have to change, or the manifest
  ///   is not in UTF-8: the original would lead clients past this proxy. Also if a playlist leads
  ///   back to itself.
  func edit(
    manifest body: [UInt8], at base: URL, in stream: CacheKey
  ) async throws -> (ManifestRewriting.Rewritten, redirect: String?)? {
    if Manifest.isWide(body) {
      throw HTTPError(
        502,
        "The manifest is in UTF-16 or UTF-32; this proxy rewrites UTF-8 alone. "
          + "Play it from its origin.")
    }
    let rewritten: ManifestRewriting.Rewritten?
    do throws(ManifestRewriting.TooLarge) {
      rewritten =
        Manifest.mayTakeLong(body)
        ? try await IOThreads.background.run { () throws(ManifestRewriting.TooLarge) in
          try rewrite(body, at: base)
        } : try rewrite(body, at: base)
      guard session?.define(rewritten?.variables ?? [:]) ?? true else {
        throw ManifestRewriting.TooLarge()
      }
    } catch {
      throw HTTPError(
        502,
        "The manifest has more references than this proxy can rewrite, or too long ones. "
          + "Play it from its origin.")
    }
    try noteChain(naming: rewritten?.playlists ?? [])
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
    let target = delivery.request.head.target
    let key = RewrittenManifests.Key(
      url: base,
      clientTarget: ProxyURL.splitAbsolute(target)?.target ?? target,
      session: session?.id, imported: session?.importable ?? [:])
    if let known = service.rewritten.rewritten(body, key) { return known }
    let routes = service.routes
    var rewriting = ManifestRewriting(
      url: base, clientTarget: key.clientTarget, removesSteering: routes.origin == nil,
      keepsPaths: routes.origin == nil
    ) { routes.target(for: $0, from: base, session: key.session) }
    guard let rewritten = try rewriting.rewrite(body, imported: key.imported) else { return nil }
    service.rewritten.insert(rewritten, of: body, key)
    return rewritten
  }

  /// Records the playlists that the response names (`VariantChains`).
  ///
  /// - Throws: `HTTPError`, if a client would follow them for ever.
  func noteChain(naming playlists: Set<UInt64>) throws(HTTPError) {
    guard service.chains.insert(url, naming: playlists, at: service.cache.now.uptime) else {
      throw HTTPError(
        508,
        "The playlist leads back to itself, or to one playlist after another, through its "
          + "variants or segments. Check the stream's first playlist.")
    }
  }

  /// Notes which resources a live manifest names again (`LiveListings`), before the client can
  /// request them. Parameters as `edit`.
  func noteListing(_ body: [UInt8], at base: URL, in stream: CacheKey) async {
    let imported = session?.importable ?? [:]
    let note = { @Sendable [service, url] in
      service.listings.note(
        body, of: url, at: base, in: stream, imported: imported, service.cache)
    }
    if Manifest.mayTakeLong(body) { await IOThreads.background.run(note) } else { note() }
  }

  // MARK: The response

  /// Returns the strong entity tag of an edited manifest, derived from the original's.
  static func etag(ofEdited body: [UInt8], original: String?) -> String {
    let tag = original.map { EntityTag($0) }
    let opaque = tag.flatMap { $0.kind == .malformed ? nil : $0.opaque }
    let prefix = opaque.map { "\($0.dropFirst().dropLast())-" } ?? ""
    return "\"\(prefix)\(String(BodyHash.of(body), radix: 36))\""
  }

  /// Removes the fields that describe the original's bytes, and sets the entity tag of the edited ones.
  static func describeEdited(_ fields: inout HeaderFields, etag: String) {
    for name in [
      "Accept-Ranges", "Content-Length", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
    ] {
      fields[name] = nil
    }
    fields["ETag"] = etag
  }
}
