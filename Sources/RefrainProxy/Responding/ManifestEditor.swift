// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Edits one manifest for the client that requests it.
struct ManifestEditor: Sendable {
  enum Edited: Sendable {
    case same
    case changed([UInt8])
    /// The client has to request the manifest here, in a session that has begun.
    case redirected(String)
  }

  private let exchange: Exchange
  private let url: URL
  /// The key of the stream's first manifest.
  private let stream: CacheKey

  private var service: ProxyService { exchange.service }

  /// - Parameters:
  ///   - url: the URL to which references are relative.
  ///   - stream: the stream in the manifest's record; nil if there is none.
  init(exchange: Exchange, url: URL, stream: CacheKey? = nil) {
    self.exchange = exchange
    self.url = url
    self.stream = exchange.service.stream(of: exchange.url, recorded: stream)
  }

  /// - Returns: nil if the body is no manifest that can be edited.
  /// - Throws: `HTTPError`, if too many or too long references would have to change, or the manifest
  ///   is not in UTF-8: the original would lead clients past this proxy. Also if a playlist leads
  ///   back to itself.
  func edit(_ body: [UInt8]) async throws -> Edited? {
    if Manifest.isWide(body) {
      throw HTTPError(
        502,
        "The manifest is in UTF-16 or UTF-32; this proxy rewrites UTF-8 alone. "
          + "Play it from its origin.")
    }
    let (routes, session) = (service.routes, exchange.session)
    let rewritten: ManifestRewriting.Rewritten?
    do throws(ManifestRewriting.TooLarge) {
      rewritten =
        Manifest.mayTakeLong(body)
        ? try await IOThreads.background.run { () throws(ManifestRewriting.TooLarge) in
          try rewrite(body)
        } : try rewrite(body)
      guard session?.define(rewritten?.variables ?? [:]) ?? true else {
        throw ManifestRewriting.TooLarge()
      }
    } catch {
      throw HTTPError(
        502,
        "The manifest has more references than this proxy can rewrite, or too long ones. "
          + "Play it from its origin.")
    }
    try exchange.noteChain(naming: rewritten?.playlists ?? [])
    guard let rewritten else { return nil }
    if routes.origin == nil, session == nil,
      let new = exchange.session(defining: rewritten.variables),
      let target = routes.target(for: exchange.url, session: new.id)
    {
      return .redirected(target)
    }
    service.parts.insert(rewritten.parts, of: exchange.url, in: stream)
    service.parts.insert(growing: rewritten.growing)
    return rewritten.isChanged ? .changed(rewritten.body) : .same
  }

  /// - Returns: nil if the body is no manifest that can be edited.
  private func rewrite(
    _ body: [UInt8]
  ) throws(ManifestRewriting.TooLarge) -> ManifestRewriting.Rewritten? {
    let key = RewrittenManifests.Key(
      url: url, clientTarget: exchange.clientTarget, session: exchange.session?.id,
      imported: exchange.session?.importable ?? [:])
    if let known = service.rewritten.rewritten(body, key) { return known }
    let routes = service.routes
    var rewriting = ManifestRewriting(
      url: url, clientTarget: key.clientTarget, removesSteering: routes.origin == nil,
      keepsPaths: routes.origin == nil
    ) { [url] in routes.target(for: $0, from: url, session: key.session) }
    guard let rewritten = try rewriting.rewrite(body, imported: key.imported) else { return nil }
    service.rewritten.insert(rewritten, of: body, key)
    return rewritten
  }

  /// Notes which resources a live manifest names again (`LiveListings`), before the client can
  /// request them.
  func noteListing(_ body: [UInt8]) async {
    let imported = exchange.session?.importable ?? [:]
    let note = { @Sendable [service, exchange, url, stream] in
      service.listings.note(
        body, of: exchange.url, at: url, in: stream, imported: imported, service.cache)
    }
    if Manifest.mayTakeLong(body) { await IOThreads.background.run(note) } else { note() }
  }

  // MARK: The response

  /// Returns the strong entity tag of an edited manifest, derived from the original's.
  static func etag(of body: [UInt8], original: String?) -> String {
    let tag = original.map { EntityTag($0) }
    let opaque = tag.flatMap { $0.kind == .malformed ? nil : $0.opaque }
    let prefix = opaque.map { "\($0.dropFirst().dropLast())-" } ?? ""
    return "\"\(prefix)\(String(BodyHash.of(body), radix: 36))\""
  }

  /// Removes the fields that describe the original's bytes, and sets those of the edited ones.
  static func describe(_ fields: inout HeaderFields, etag: String) {
    for name in [
      "Accept-Ranges", "Content-Length", "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
      "ETag",
    ] {
      fields[name] = nil
    }
    fields.append("ETag", etag)
  }
}
