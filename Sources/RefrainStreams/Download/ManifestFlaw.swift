// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain

/// The reason why a body that begins as the manifest of a stream cannot be read as one. A pure
/// value.
package enum ManifestFlaw: Sendable, Hashable {
  /// An MPD that does not end.
  case isCutOff
  /// An MPD with a document type that declares entities, or with unknown declarations.
  case hasDeclarations
  /// An MPD that ends and cannot be read.
  case isMalformed
  /// A playlist with tags of streams, but with neither variants nor segments.
  case namesNothing

  /// Nil if the body can be read, is longer than any manifest, or does not begin as one: a list of
  /// songs has no tags of streams. Takes time linear in the length of the body.
  package init?(_ body: [UInt8]) {
    // More was not received.
    guard body.count < Manifest.longest else { return nil }
    let flaw: ManifestFlaw?
    if let lines = HLSLines(playlist: body) {
      flaw = Self.ofPlaylist(body, lines)
    } else {
      flaw = Self.ofDescription(body)
    }
    guard let flaw else { return nil }
    self = flaw
  }

  /// Returns the error of a manifest.
  ///
  /// - Parameter url: of the manifest.
  package func error(at url: URL) -> MediaCacheError {
    let address =
      url.isFileURL ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
    return MediaCacheError(
      .invalidResponse, "\(address) begins as \(kind), but cannot be read: \(reason)",
      remedy: url.isFileURL
        ? "Get the file again from where it came."
        : "'refrain rm' forces a new fetch; if the error remains, the origin has to repair it.")
  }

  private var kind: String {
    self == .namesNothing ? "a playlist of an HTTP Live Stream" : "a DASH manifest"
  }

  private var reason: String {
    switch self {
    case .isCutOff: "it is cut off."
    case .hasDeclarations:
      "its document type has declarations, such as entities, which are not expanded."
    case .isMalformed: "it is malformed."
    case .namesNothing: "it names neither variants nor segments; it may be cut off."
    }
  }

  // MARK: HLS

  private static func ofPlaylist(_ body: [UInt8], _ lines: HLSLines) -> ManifestFlaw? {
    var hasReferences = false
    var isStream = false
    for line in lines {
      switch line.content {
      case .uri: hasReferences = true
      case .tag(.rendition, _), .tag(.iFrameVariant, _), .tag(.sessionKey, _),
        .tag(.contentSteering, _):
        isStream = true
      case .tag(let tag, _) where tag == .variant || tag.isOfMediaPlaylist: return nil
      case .tag, .comment: break
      }
    }
    if isStream { return .namesNothing }
    return !hasReferences && StreamParts.isStream(playlist: body) ? .namesNothing : nil
  }

  // MARK: DASH

  private static func ofDescription(_ body: [UInt8]) -> ManifestFlaw? {
    var scanner = MarkupScanner(body)
    while let token = scanner.next() {
      switch token {
      case .text(let range) where MarkupText.trimmed(range, in: body).isEmpty: continue
      case .unsupported: return hasRoot(body) ? .hasDeclarations : nil
      case .start(let name, let isEmpty):
        guard DASHElement(root: body[name]) == .mpd, DASHTree(body)?.isWholeMPD != true else {
          return nil
        }
        return flaw(behind: &scanner, isEmpty: isEmpty)
      case .text, .section, .end: return nil
      }
    }
    // The start tag of the root, or a comment, does not end.
    return hasRoot(body) ? .isCutOff : nil
  }

  /// - Parameter root: a scanner that has just read the start tag of the root.
  private static func flaw(behind root: inout MarkupScanner, isEmpty: Bool) -> ManifestFlaw {
    var depth = isEmpty ? 0 : 1
    while depth > 0, let token = root.next() {
      switch token {
      case .start(_, let isEmpty): depth += isEmpty ? 0 : 1
      case .end: depth -= 1
      case .unsupported: return .hasDeclarations
      case .text, .section: break
      }
    }
    return depth > 0 ? .isCutOff : .isMalformed
  }

  /// Whether the name of the root element stands anywhere in XML.
  private static func hasRoot(_ body: [UInt8]) -> Bool {
    let name = Array("MPD".utf8)
    return body.indices.dropFirst().contains { index in
      body[index] == name[0] && body[index...].starts(with: name)
        && (body[index - 1] == UInt8(ascii: "<") || body[index - 1] == UInt8(ascii: ":"))
    }
  }
}
