// SPDX-License-Identifier: MIT

/// The resources of a stream that do not change under their URLs: segments, keys, initializations.
/// Playlists name them by URL, MPDs by directory.
package struct StreamParts: Sendable {
  /// Hashes, since a stream may have 100,000 segments. Two URLs with one hash are as good as
  /// impossible by accident.
  package private(set) var hashes: Set<UInt64> = []
  /// Each ends with a slash.
  package private(set) var directories: Set<String> = []

  package init() {}

  mutating func insert(_ url: String) { hashes.insert(Self.hash(url.utf8)) }

  /// Inserts all below the directory of a URL, or of a template of URLs.
  mutating func insert(directoryOf url: String) {
    let fixed = url.prefix { $0 != "$" && $0 != "?" && $0 != "#" }
    guard let slash = fixed.lastIndex(of: "/"), WebURL(String(fixed)) != nil,
      // Not `https://`, nor a whole host.
      fixed[..<slash].utf8.filter({ $0 == UInt8(ascii: "/") }).count > 2
    else { return }
    directories.insert(String(fixed[...slash]))
  }

  /// 64 bits of FNV-1a.
  package static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return hash
  }
}

extension ManifestReference.Kind {
  /// Whether the resource does not change under its URL (RFC 8216 §6.2.1).
  var isPart: Bool {
    switch self {
    case .segment, .part, .key, .initialization, .preloadHint: true
    case .playlist, .renditionReport, .data, .steering, .interstitial, .base, .location, .template:
      false
    }
  }
}
