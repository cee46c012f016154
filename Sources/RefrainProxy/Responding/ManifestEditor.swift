// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Edits one manifest for the client that requests it.
struct ManifestEditor: Sendable {
  struct Edited: Sendable {
    var body: [UInt8]
    var isChanged: Bool
    /// Where the client has to request the manifest again, in a session that has begun; nil: here.
    var redirection: String?
  }

  private let exchange: Exchange
  private let url: URL
  private let sources: [URL]

  /// - Parameters:
  ///   - url: the URL to which references are relative.
  ///   - source: the URL that responded.
  init(exchange: Exchange, url: URL, source: URL) {
    self.exchange = exchange
    self.url = url
    sources = [exchange.url, source]
  }

  /// - Returns: nil if the body is no manifest that can be edited.
  func edit(_ body: [UInt8]) -> Edited? {
    let (routes, session) = (exchange.service.routes, exchange.session)
    let manifest = url
    var rewriting = ManifestRewriting(
      url: manifest, clientTarget: exchange.clientTarget, removesSteering: routes.origin == nil
    ) { routes.target(for: $0, from: manifest, session: session?.id) }
    guard let rewritten = rewriting.rewrite(body, imported: session?.importable ?? [:]) else {
      return nil
    }
    if routes.origin == nil, session == nil,
      let new = exchange.session(
        defining: rewritten.variables, for: sources)
    {
      let target = routes.target(for: exchange.url, session: new.id)
      return Edited(body: body, isChanged: false, redirection: target)
    }
    session?.define(rewritten.variables)
    exchange.service.parts.insert(rewritten.parts)
    return Edited(body: rewritten.body, isChanged: rewritten.isChanged)
  }

  // MARK: The response

  /// Returns the strong entity tag of an edited manifest, derived from the original's.
  static func etag(of body: [UInt8], original: String?) -> String {
    let hash = StreamParts.hash(body)
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
