// SPDX-License-Identifier: MIT
package import Foundation

/// Rewrites the references of a manifest for clients that request the manifest under another URL,
/// as that of a proxy: the bytes of references change, and nothing else.
///
/// A reference that clients resolve to the right URL by themselves stays as it is. Most relative
/// references do.
package struct ManifestRewriting {
  /// A rewritten manifest.
  package struct Rewritten: Sendable {
    package var body: [UInt8]
    /// Whether the body differs from the original.
    package var isChanged: Bool
    /// The variables that playlists named by this one may import (`EXT-X-DEFINE`).
    package var variables: [String: String] = [:]
    /// The segments, keys and other immutable resources of the stream that the manifest names.
    package var parts = StreamParts()
  }

  /// The URL of the manifest after redirects.
  private let url: URL
  /// The manifest's URL for the client.
  private let clientURL: URL?
  /// Whether to remove content steering: a server that clones a pathway would give clients another
  /// host in place of this one.
  private let removesSteering: Bool
  /// A name that no reference has.
  private static let client = "client.invalid"
  private let target: (URL) -> String?
  /// The decisions by the text of references up to the last slash of their path.
  private var decisions: [Substring: Decision] = [:]

  private struct Decision {
    /// The replacement of the text up to the slash; nil to leave it.
    var replacement: String?
    /// The absolute form of that text; nil if it is no http or https URL.
    var absolute: String?
  }

  /// - Parameters:
  ///   - url: the URL of the manifest after redirects.
  ///   - clientTarget: the path and query under which the client requested it.
  ///   - removesSteering: whether to remove the tag `EXT-X-CONTENT-STEERING`.
  ///   - target: returns the path and query under which clients have to request a URL; nil leaves
  ///     its references as they are.
  package init(
    url: URL, clientTarget: String, removesSteering: Bool, target: @escaping (URL) -> String?
  ) {
    self.url = url
    clientURL = URL(text: "http://\(Self.client)\(clientTarget)")
    self.removesSteering = removesSteering
    self.target = target
  }

  /// Returns the rewritten manifest; nil if the body is neither an HLS playlist nor an MPD that can
  /// be scanned.
  ///
  /// - Parameters:
  ///   - body: the whole manifest.
  ///   - imported: the variables of the multivariant playlist that names this one.
  package mutating func rewrite(_ body: [UInt8], imported: [String: String] = [:]) -> Rewritten? {
    if HLSReader(body, url: url) != nil { return rewritePlaylist(body, imported) }
    return rewriteDescription(body)
  }

  // MARK: HLS

  private mutating func rewritePlaylist(
    _ body: [UInt8], _ imported: [String: String]
  ) -> Rewritten {
    let playlist = HLSReferences(of: body, url: url, imported: imported)
    var edits = ByteEdits()
    var parts = StreamParts()
    for reference in playlist.references {
      if reference.kind == .steering {
        if removesSteering { edits.replace(reference.line, with: "") }
        continue
      }
      let outcome = outcome(of: reference.text)
      if let text = outcome.replacement { edits.replace(reference.range, with: text) }
      if reference.kind.isPart, let absolute = outcome.absolute { parts.insert(absolute) }
    }
    var rewritten = apply(edits, to: body)
    rewritten.parts = parts
    if playlist.sharesVariables { rewritten.variables = playlist.variables }
    return rewritten
  }

  private func apply(_ edits: ByteEdits, to body: [UInt8]) -> Rewritten {
    guard !edits.isEmpty else { return Rewritten(body: body, isChanged: false) }
    return Rewritten(body: edits.applied(to: body), isChanged: true)
  }

  // MARK: DASH

  private mutating func rewriteDescription(_ body: [UInt8]) -> Rewritten? {
    guard let description = DASHReferences(of: body, url: url) else { return nil }
    var edits = ByteEdits()
    var parts = StreamParts()
    parts.insert(directoryOf: url.absoluteString)
    for found in description.references {
      guard let resolved = found.resolved else {
        if Self.isAmbiguous(found.reference.text) {
          edits.replace(found.reference.range, with: "about:invalid")
        }
        continue
      }
      if found.reference.kind != .location { parts.insert(directoryOf: resolved) }
      guard let text = outcome(of: resolved).replacement else { continue }
      edits.replace(found.reference.range, with: DASHReferences.escaped(text))
    }
    var rewritten = apply(edits, to: body)
    rewritten.parts = parts
    return rewritten
  }

  // MARK: One reference

  /// Returns the replacement and the absolute form of a reference. The path up to its last slash
  /// decides, for all names that every reader of URIs splits alike.
  private mutating func outcome(of text: String) -> Decision {
    let slash = Self.endOfDirectory(text)
    let name = text[slash...]
    guard Self.isSimple(name) else { return decide(text) }
    let directory = decision(for: text[..<slash])
    return Decision(
      replacement: directory.replacement.map { $0 + name },
      absolute: directory.absolute.map { $0 + name })
  }

  private mutating func decision(for directory: Substring) -> Decision {
    if let known = decisions[directory] { return known }
    let name = "x"
    var decision = decide(directory + name)
    decision.replacement = decision.replacement.map { String($0.dropLast(name.utf8.count)) }
    decision.absolute = decision.absolute.map { String($0.dropLast(name.utf8.count)) }
    // Bounds the memory for a manifest whose references are all in different directories.
    if decisions.count >= 1024 { decisions = [:] }
    decisions[directory] = decision
    return decision
  }

  private func decide(_ text: some StringProtocol) -> Decision {
    guard let absolute = URL(text: text, relativeTo: url), WebURL(absolute.absoluteString) != nil
    else { return Decision() }
    var decision = Decision(absolute: absolute.absoluteString)
    let target = target(absolute)
    if Self.isAmbiguous(text) {
      decision.replacement = target ?? absolute.absoluteString
      return decision
    }
    guard let target, !isResolvedByClient(text, to: target) else { return decision }
    let fragment = text.firstIndex(of: "#").map { String(text[$0...]) } ?? ""
    decision.replacement = target + fragment
    return decision
  }

  /// Whether clients resolve a reference in different ways: browsers take `\` for a slash, `%2e`
  /// for a dot, and drop tabs (WHATWG URL §4.4), so that it could climb out of its stream's host.
  private static func isAmbiguous(_ text: some StringProtocol) -> Bool {
    text.utf8.contains { $0 == UInt8(ascii: "\\") || $0 < 0x20 }
      || text.range(of: "%2e", options: .caseInsensitive) != nil
  }

  private func isResolvedByClient(_ text: some StringProtocol, to target: String) -> Bool {
    guard let clientURL, let url = URL(text: text, relativeTo: clientURL),
      let parts = WebURL(url.absoluteString)
    else { return false }
    return parts.authority == Self.client && parts.requestTarget == target
  }

  /// Returns the index behind the last slash of the path; the start if there is none.
  private static func endOfDirectory(_ text: String) -> String.Index {
    var end = text.startIndex
    for index in text.utf8.indices {
      switch text.utf8[index] {
      case UInt8(ascii: "/"): end = text.utf8.index(after: index)
      case UInt8(ascii: "?"), UInt8(ascii: "#"): return end
      default: break
      }
    }
    return end
  }

  /// Whether the last segment of a path, with its query, is the same for every reader of URIs.
  private static func isSimple(_ name: Substring) -> Bool {
    guard let first = name.utf8.first, first != UInt8(ascii: "."), first != UInt8(ascii: "?"),
      first != UInt8(ascii: "#")
    else { return false }
    return name.utf8.allSatisfy { byte in
      switch byte {
      // `!$&'()*+,-./;=?@_~`. A colon could end a scheme.
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x21, 0x24, 0x26...0x2F, 0x3B, 0x3D, 0x3F, 0x40,
        0x5F, 0x7E:
        true
      default: false
      }
    }
  }
}
