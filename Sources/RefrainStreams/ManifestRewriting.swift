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
    /// Whether it is a playlist that the origin changes no more.
    package var isComplete = false
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
      return try rewritePlaylist(body, reader)
    }
    return try rewriteDescription(body)
  }

  // MARK: HLS

  private mutating func rewritePlaylist(
    _ body: [UInt8], _ reader: HLSReader
  ) throws(TooLarge) -> Rewritten {
    var reader = reader
    var edits = ByteEdits()
    var parts = StreamParts()
    var growing: [UInt64] = []
    var (isMultivariant, hasEnded) = (false, false)
    var type: HLSMediaPlaylist.PlaylistType?
    var seconds = 0.0
    while let line = reader.next() {
      switch line.content {
      case .tag(.contentSteering, _):
        if removesSteering, !line.references.isEmpty { edits.replace(line.whole, with: []) }
        continue
      case .tag(.variant, _): isMultivariant = true
      case .tag(.end, _): hasEnded = true
      case .tag(.playlistType, let value): type = .init(value) ?? type
      case .tag(.segment, let value): seconds += value.seconds ?? 0
      default: break
      }
      for (kind, spelling) in line.references {
        guard let hash = try rewrite(spelling, &reader, &edits), let role = kind.role else {
          continue
        }
        parts.insert(hash: hash, as: role)
        if kind == .part || kind == .preloadHint, growing.last != hash { growing.append(hash) }
      }
    }
    // A definition was left out, so that its references are undefined.
    if reader.isIncomplete { throw TooLarge() }
    parts.isStream = StreamParts.isStream(playlist: body)
    if !isMultivariant {
      parts.use = hasEnded || type != nil ? .lasting : .passing(listed: seconds)
    }
    var rewritten = try apply(edits, to: body)
    rewritten.parts = parts
    rewritten.isComplete = hasEnded || type == .vod
    if !hasEnded { rewritten.growing = growing }
    if isMultivariant { rewritten.variables = reader.variables }
    return rewritten
  }

  /// Rewrites a reference of a playlist.
  ///
  /// - Returns: the hash of its absolute form; nil if it is no http or https URL.
  private mutating func rewrite(
    _ spelling: ArraySlice<UInt8>, _ reader: inout HLSReader, _ edits: inout ByteEdits
  ) throws(TooLarge) -> UInt64? {
    if spelling.count > HLSReader.longestText {
      guard HLSReader.isData(spelling) else { throw TooLarge() }
      return nil
    }
    // Without variables, and without bytes to percent-encode.
    if spelling.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "{") }) {
      let outcome = try outcome(of: spelling)
      if let replacement = outcome.replacement {
        edits.replace(spelling.prefix(outcome.replacedCount).indices, with: replacement)
      }
      return outcome.absoluteHash
    }
    // As it is spelled, it would lead clients past the proxy.
    guard let text = reader.text(spelling) else { throw TooLarge() }
    let bytes = Array(text.utf8)
    let outcome = try outcome(of: bytes[...])
    if let replacement = outcome.replacement {
      edits.replace(spelling.indices, with: replacement + bytes[outcome.replacedCount...])
    }
    return outcome.absoluteHash
  }

  private mutating func outcome(
    of reference: ArraySlice<UInt8>
  ) throws(TooLarge) -> ReferenceRewriting.Outcome {
    guard let outcome = references.outcome(of: reference) else { throw TooLarge() }
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
    parts.use = description.window.map { .passing(listed: $0) } ?? .lasting
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
          || ReferenceRewriting.isMisread(Array(text.utf8)[...])
        {
          edits.replace(found.reference.range, with: ReferenceRewriting.nothing)
        }
        continue
      }
      let bytes = Array(resolved.utf8)
      let outcome = try outcome(of: bytes[...])
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
