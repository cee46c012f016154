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
    /// The resources of the stream that the manifest names.
    package var parts = StreamParts()
    /// The resources of a playlist's parts, by the hashes of their URLs: segments that may still
    /// grow. Empty once the playlist has ended.
    package var growing: [UInt64] = []
    /// The variants and renditions of a multivariant playlist, by the hashes of their URLs
    /// (`StreamParts.hash`), without those that no player follows: I-frame playlists, and more than
    /// a thousand. Also the URL of any other playlist that is a segment of itself.
    package var playlists: Set<UInt64> = []
  }

  /// References of the manifest have to change, but this would take too much time or memory.
  package struct TooLarge: Error, Hashable {
    package init() {}
  }

  /// The URL of the manifest after redirects.
  private let url: URL
  /// Whether to remove content steering: a server that clones a pathway would give clients another
  /// host in place of this one.
  private let removesSteering: Bool
  private var references: ReferenceRewriting

  /// The longest rewritten manifest: a short reference may have a long replacement.
  private static let longest = 8 * Int(Manifest.longest)
  private static let mostPlaylists = 1000

  /// - Parameters:
  ///   - url: the URL of the manifest after redirects.
  ///   - clientTarget: the path and query under which the client requested it.
  ///   - removesSteering: whether to remove the tag `EXT-X-CONTENT-STEERING`.
  ///   - keepsPaths: whether the target of a URL is always that of its host's root, followed by the
  ///     URL's path and query. A manifest with many directories then takes less time.
  ///   - target: returns the path and query under which clients have to request a URL; nil leaves
  ///     its references as they are.
  package init(
    url: URL, clientTarget: String, removesSteering: Bool, keepsPaths: Bool = false,
    target: @escaping (URL) -> String?
  ) {
    self.url = url
    self.removesSteering = removesSteering
    references = ReferenceRewriting(
      url: url, clientTarget: clientTarget, keepsPaths: keepsPaths, target: target)
  }

  /// Returns the rewritten manifest; nil if the body is neither an HLS playlist nor an MPD that can
  /// be scanned.
  ///
  /// - Parameters:
  ///   - body: the whole manifest.
  ///   - imported: the variables of the multivariant playlist that names this one.
  package mutating func rewrite(
    _ body: [UInt8], imported: [String: String] = [:]
  ) throws(TooLarge) -> Rewritten? {
    if let reader = HLSReader(body, url: url, imported: imported) {
      return try rewritePlaylist(HLSReferenceScanner(reader))
    }
    return try rewriteDescription(body)
  }

  // MARK: HLS

  private mutating func rewritePlaylist(
    _ scanner: HLSReferenceScanner
  ) throws(TooLarge) -> Rewritten {
    var scanner = scanner
    let body = scanner.reader.body
    var edits = ByteEdits()
    var parts = StreamParts()
    var removed: Range<Int>?
    var growing: [UInt64] = []
    var playlists: Set<UInt64> = []
    let own = StreamParts.hash(url.absoluteString.utf8)
    var isOwnSegment = false
    while let found = scanner.next() {
      if found.kind == .steering {
        if removesSteering, removed != found.line { edits.replace(found.line, with: []) }
        removed = found.line
        continue
      }
      if found.range.count > HLSVariables.longestText {
        guard HLSVariables.isData(body[found.range]) else { throw TooLarge() }
        continue
      }
      let absoluteHash: UInt64?
      if Self.isVerbatim(body, found.range) {
        let outcome = try outcome(of: body, in: found.range)
        if let replacement = outcome.replacement {
          let start = found.range.lowerBound
          edits.replace(start..<start + outcome.replacedCount, with: replacement)
        }
        absoluteHash = outcome.absoluteHash
      } else {
        // As it is spelled, it would lead clients past the proxy.
        guard let text = scanner.reader.text(found.range) else { throw TooLarge() }
        let bytes = Array(text.utf8)
        let outcome = try outcome(of: bytes, in: 0..<bytes.count)
        if let replacement = outcome.replacement {
          edits.replace(found.range, with: replacement + bytes[outcome.replacedCount...])
        }
        absoluteHash = outcome.absoluteHash
      }
      if let absoluteHash, let role = found.kind.role {
        parts.insert(hash: absoluteHash, as: role)
        if found.kind == .part || found.kind == .preloadHint, growing.last != absoluteHash {
          growing.append(absoluteHash)
        }
        if found.kind == .segment, absoluteHash == own { isOwnSegment = true }
        if found.kind == .playlist, !found.isIFrames, playlists.count < Self.mostPlaylists {
          playlists.insert(absoluteHash)
        }
      }
    }
    // A definition was left out, so that its references are undefined.
    if scanner.reader.isIncomplete { throw TooLarge() }
    parts.isStream = StreamParts.isStream(playlist: body)
    var rewritten = try apply(edits, to: body)
    rewritten.parts = parts
    if !scanner.hasEnded { rewritten.growing = growing }
    if scanner.isMultivariant {
      rewritten.variables = scanner.reader.variables.values
      rewritten.playlists = playlists
    } else if isOwnSegment, parts.isStream {
      rewritten.playlists = [own]
    }
    return rewritten
  }

  /// Whether the text of a reference consists of its bytes: it has no variables, and nothing to
  /// percent-encode.
  private static func isVerbatim(_ body: [UInt8], _ range: Range<Int>) -> Bool {
    body.withUnsafeBufferPointer { body in
      for index in range where body[index] == UInt8(ascii: "{") || body[index] >= 0x80 {
        return false
      }
      return true
    }
  }

  private mutating func outcome(
    of bytes: [UInt8], in range: Range<Int>
  ) throws(TooLarge) -> ReferenceRewriting.Outcome {
    guard let outcome = references.outcome(of: bytes, in: range) else { throw TooLarge() }
    return outcome
  }

  private func apply(_ edits: ByteEdits, to body: [UInt8]) throws(TooLarge) -> Rewritten {
    guard edits.length(of: body) <= Self.longest else { throw TooLarge() }
    guard !edits.isEmpty else { return Rewritten(body: body, isChanged: false) }
    return Rewritten(body: edits.applied(to: body), isChanged: true)
  }

  // MARK: DASH

  private mutating func rewriteDescription(_ body: [UInt8]) throws(TooLarge) -> Rewritten? {
    guard let description = DASHReferences(of: body, url: url) else { return nil }
    var edits = ByteEdits()
    var parts = StreamParts()
    parts.isStream = true
    parts.insert(directoryOf: url.absoluteString)
    for found in description.references {
      guard !found.isUnsafe else {
        edits.replace(found.reference.range, with: ReferenceRewriting.nothing)
        continue
      }
      parts.insert(found.reference, resolved: found.resolved ?? found.located)
      guard let resolved = found.resolved ?? (found.isBelowAbsolute ? found.located : nil) else {
        let text = found.reference.text
        if ReferenceRewriting.isAmbiguous(text)
          || Array(text.utf8).withUnsafeBufferPointer(ReferenceRewriting.isMisread)
        {
          edits.replace(found.reference.range, with: ReferenceRewriting.nothing)
        }
        continue
      }
      let bytes = Array(resolved.utf8)
      let outcome = try outcome(of: bytes, in: 0..<bytes.count)
      guard let replacement = outcome.replacement else { continue }
      let text = String(decoding: replacement + bytes[outcome.replacedCount...], as: UTF8.self)
      edits.replace(found.reference.range, with: DASHReferences.escaped(text))
    }
    for value in description.values {
      edits.replace(value.range, with: DASHReferences.escaped(value.replacement))
    }
    for range in description.patchLocations { edits.replace(range, with: []) }
    var rewritten = try apply(edits, to: body)
    rewritten.parts = parts
    return rewritten
  }
}
