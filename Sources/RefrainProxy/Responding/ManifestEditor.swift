// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Edits one manifest for the client that requests it.
struct ManifestEditor: Sendable {
  struct Edited: Sendable {
    var body: [UInt8]
    var isChanged: Bool
    /// Where the client has to request the manifest again, in a session that has begun; nil: here.
    var redirection: String?
    /// The variants and renditions of a multivariant playlist (`ManifestRewriting.Rewritten`).
    var playlists: Set<UInt64> = []
  }

  private let exchange: Exchange
  private let url: URL
  /// The key of the stream's first manifest.
  private let stream: CacheKey

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
    let edited = try await editedManifest(body)
    try exchange.noteChain(naming: edited?.playlists ?? [])
    return edited
  }

  private func editedManifest(_ body: [UInt8]) async throws -> Edited? {
    let key = key
    do throws(ManifestRewriting.TooLarge) {
      if let known = exchange.service.rewritten.rewritten(body, key) {
        return try edited(body, known)
      }
      guard Manifest.mayTakeLong(body) else { return try edited(body, rewritten(body, key)) }
      return try await IOThreads.background.run { () throws(ManifestRewriting.TooLarge) in
        try edited(body, rewritten(body, key))
      }
    } catch {
      throw HTTPError(
        502,
        "The manifest has more references than this proxy can rewrite, or too long ones. "
          + "Play it from its origin.")
    }
  }

  private var key: RewrittenManifests.Key {
    RewrittenManifests.Key(
      url: url, clientTarget: exchange.clientTarget, session: exchange.session?.id,
      imported: exchange.session?.importable ?? [:])
  }

  private func rewritten(
    _ body: [UInt8], _ key: RewrittenManifests.Key
  ) throws(ManifestRewriting.TooLarge) -> ManifestRewriting.Rewritten? {
    let routes = exchange.service.routes
    var rewriting = ManifestRewriting(
      url: key.url, clientTarget: key.clientTarget, removesSteering: routes.origin == nil,
      keepsPaths: routes.origin == nil
    ) { routes.target(for: $0, from: key.url, session: key.session) }
    guard let rewritten = try rewriting.rewrite(body, imported: key.imported) else { return nil }
    exchange.service.rewritten.insert(rewritten, of: body, key)
    return rewritten
  }

  private func edited(
    _ body: [UInt8], _ rewritten: ManifestRewriting.Rewritten?
  ) throws(ManifestRewriting.TooLarge) -> Edited? {
    guard let rewritten else { return nil }
    let (routes, session) = (exchange.service.routes, exchange.session)
    if routes.origin == nil, session == nil,
      let new = exchange.session(defining: rewritten.variables)
    {
      let target = routes.target(for: exchange.url, session: new.id)
      return Edited(
        body: body, isChanged: false, redirection: target, playlists: rewritten.playlists)
    }
    guard session?.define(rewritten.variables) ?? true else {
      throw ManifestRewriting.TooLarge()
    }
    exchange.service.parts.insert(rewritten.parts, of: exchange.url, in: stream)
    exchange.service.parts.insert(growing: rewritten.growing)
    return Edited(
      body: rewritten.body, isChanged: rewritten.isChanged, playlists: rewritten.playlists)
  }

  // MARK: The response

  /// Returns the strong entity tag of an edited manifest, derived from the original's.
  static func etag(of body: [UInt8], original: String?) -> String {
    let hash = BodyHash.of(body)
    let tag = original.map { EntityTag($0) }
    let opaque = tag.flatMap { $0.kind == .malformed ? nil : $0.opaque }
    let prefix = opaque.map { "\($0.dropFirst().dropLast())-" } ?? ""
    return "\"\(prefix)\(String(hash, radix: 36))\""
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

extension Exchange {
  /// Notes which resources a live manifest names again (`LiveListings`), before the client can
  /// request them.
  ///
  /// - Parameters:
  ///   - base: the URL to which references are relative.
  ///   - stream: the stream in the manifest's record; nil if there is none.
  func noteListing(_ body: [UInt8], base: URL, recorded stream: CacheKey?) async {
    let stream = service.stream(of: url, recorded: stream)
    let imported = session?.importable ?? [:]
    let note = { @Sendable [service, url] in
      service.listings.note(
        body, of: url, at: base, in: stream, imported: imported, service.cache)
    }
    if Manifest.mayTakeLong(body) { await IOThreads.background.run(note) } else { note() }
  }
}
