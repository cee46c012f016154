// SPDX-License-Identifier: MIT
import Refrain

/// The resources that a manifest names as those of its stream. Playlists name them by URL, MPDs by
/// directory and name.
package struct StreamParts: Sendable {
  /// What a resource is to its stream.
  package enum Role: UInt8, Sendable {
    /// A segment, which does not change under its URL (RFC 8216 §6.2.1).
    case segment
    /// An initialization, which many segments share. It does not change under its URL either.
    case initialization
    /// A key. It does not change under its URL either.
    case key
    /// A playlist or other data, which may change under its URL.
    case other
  }

  /// By the hashes of URLs, since a stream may have 100,000 segments. Two URLs with one hash are as
  /// good as impossible by accident.
  package private(set) var roles: [UInt64: Role] = [:]
  /// Each ends with a slash.
  package private(set) var directories: Set<String> = []
  /// The names of the files in `directories`.
  package private(set) var names: Set<PartName> = []
  /// Whether the manifest is that of a stream, and no list of songs.
  package var isStream = false
  /// How long the segments that the manifest names are of use after they were played; `.unknown` if
  /// it names none.
  package var use = Use.unknown

  /// How long segments are of use.
  package enum Use: Sendable, Hashable {
    case unknown
    /// They are always listed.
    case lasting
    /// They leave the list of a live stream.
    case passing(Duration)

    /// Of a list that covers so many seconds: a player may go back so far. Ten minutes at least, for
    /// players that are paused.
    static func passing(listed seconds: Double) -> Use {
      .passing(.seconds(max(600, seconds.isFinite ? min(seconds, 1e9) : 0)))
    }
  }

  package init() {}

  mutating func insert(_ url: String, as kind: ManifestReference.Kind) {
    if let role = kind.role { insert(hash: Self.hash(url.utf8), as: role) }
  }

  /// Inserts the hash of a URL. Of two roles of one URL, the later one in `Role` counts: what may
  /// change has to be revalidated.
  mutating func insert(hash: UInt64, as role: Role) {
    if let known = roles[hash], known.rawValue >= role.rawValue { return }
    roles[hash] = role
  }

  /// Inserts a reference of an MPD.
  ///
  /// - Parameters:
  ///   - reference: the reference as the MPD writes it.
  ///   - resolved: its absolute form, if it leads out of the directory of the MPD, or of a base.
  mutating func insert(_ reference: ManifestReference, resolved: String?) {
    if reference.kind == .location {
      if let resolved { insert(resolved, as: .location) }
      return
    }
    if let resolved { insert(directoryOf: resolved) }
    if let name = PartName(of: reference.text), names.count < Self.mostNames { names.insert(name) }
  }

  /// Only hostile MPDs name their files by more patterns.
  private static let mostNames = 256

  /// Inserts all below the directory of a URL, or of a template of URLs.
  mutating func insert(directoryOf url: String) {
    let fixed = url.prefix { $0 != "$" && $0 != "?" && $0 != "#" }
    guard let slash = fixed.lastIndex(of: "/"), WebURL(String(fixed)) != nil,
      // Not `https://`, nor a whole host.
      fixed[..<slash].utf8.filter({ $0 == UInt8(ascii: "/") }).count > 2
    else { return }
    directories.insert(String(fixed[...slash]))
  }

  /// Whether a playlist has tags of HLS: an m3u8 may be a list of songs, which have nothing in
  /// common.
  static func isStream(playlist body: [UInt8]) -> Bool {
    let tag = Array("#EXT-X-".utf8)
    return body.withUnsafeBufferPointer { body in
      var isAtStart = true
      for index in body.indices {
        if isAtStart, body[index...].starts(with: tag) { return true }
        isAtStart = body[index] == 0x0A || body[index] == 0x0D
      }
      return false
    }
  }
}

/// Hashes of URLs: 64 bits of FNV-1a. Not generic for other modules: there the loop would
/// not be specialized, and would take a hundred times as long.
extension StreamParts {
  package static func hash(_ text: String.UTF8View) -> UInt64 {
    text.withContiguousStorageIfAvailable { hash($0) } ?? hash(of: text, after: offset)
  }

  /// - Parameter start: the hash of the bytes before these.
  package static func hash(
    _ bytes: UnsafeBufferPointer<UInt8>, after start: UInt64 = offset
  ) -> UInt64 {
    hash(of: bytes, after: start)
  }

  /// The hash of no bytes.
  package static let offset: UInt64 = 0xCBF2_9CE4_8422_2325

  /// - Parameter start: the hash of the bytes before this one.
  package static func hash(_ byte: UInt8, after start: UInt64) -> UInt64 {
    (start ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
  }

  /// - Parameter start: the hash of the bytes before these.
  static func hash(of bytes: some Sequence<UInt8>, after start: UInt64 = offset) -> UInt64 {
    bytes.reduce(start) { hash($1, after: $0) }
  }
}

/// The names of a stream's files in a directory, by what they have in common: `chunk-….m4s`. A
/// directory may have other files too.
package struct PartName: Sendable, Hashable {
  private var start: String
  /// Nil if `start` is the whole name.
  private var end: String?

  /// - Parameter reference: a template or a URL; nil if it names no file, or any file.
  init?(of reference: String) {
    let path = reference.prefix { $0 != "?" && $0 != "#" }
    let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path
    guard !name.isEmpty else { return nil }
    let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name
    // Identifiers of templates vary, and so do the numbers of segments that are listed one by one.
    func varies(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: "$") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    guard let first = stem.utf8.firstIndex(where: varies),
      let last = stem.utf8.lastIndex(where: varies)
    else {
      start = String(name)
      return
    }
    let end = String(name[name.utf8.index(after: last)...])
    start = String(name[..<first])
    self.end = end
    if start.isEmpty, end.isEmpty { return nil }
  }

  package func matches(_ name: Substring) -> Bool {
    guard let end else { return name == start }
    return name.utf8.count > start.utf8.count + end.utf8.count && name.hasPrefix(start)
      && name.hasSuffix(end)
  }
}

extension ManifestReference.Kind {
  /// What the resource is to the stream; nil if it does not belong to it.
  var role: StreamParts.Role? {
    switch self {
    case .segment, .part, .preloadHint: .segment
    case .initialization: .initialization
    case .key: .key
    case .playlist, .renditionReport, .data, .location: .other
    // An interstitial is a stream by itself, and the same one interrupts many.
    case .steering, .interstitial, .base, .template: nil
    }
  }
}
