// SPDX-License-Identifier: MIT
package import Foundation
package import Refrain
import RefrainLocks

/// The playlists, segments and keys of streams that clients play, and to which stream they belong.
///
/// Segments and keys do not change under their URLs (RFC 8216 §6.2.1): the manifest is revalidated,
/// and they are used without that, unless the origin forbids it.
package final class KnownParts: Sendable {
  private static let capacity = 500_000
  private static let directoryCapacity = 4096
  private static let streamCapacity = 16_384
  /// More MPDs in one directory are not distinguished.
  private static let mostStreamsOfDirectory = 16
  /// Directories further above a URL are not found.
  private static let mostDirectoriesAbove = 64

  /// The index of a stream in `State.streams`.
  private typealias StreamIndex = UInt16

  /// Small: there are 100,000s of them.
  private struct Part {
    var role: StreamParts.Role
    /// Nil if a list of songs named the resource.
    var stream: StreamIndex?
  }

  /// The files of an MPD.
  private struct Files {
    var stream: StreamIndex
    var names: Set<PartName>
  }

  private struct State {
    var parts: [UInt64: Part] = [:]
    /// Those of each MPD, the newest last, by the hashes of the directories' URLs.
    var directories: [UInt64: [Files]] = [:]
    /// The greatest length of a directory; 0 if there is none.
    var longestDirectory = 0
    var streams: [(key: CacheKey, use: StreamParts.Use)] = []
    var indices: [CacheKey: StreamIndex] = [:]

    mutating func index(of stream: CacheKey) -> StreamIndex {
      if let known = indices[stream] { return known }
      // Indices of forgotten streams must not be left.
      if streams.count >= streamCapacity { self = State() }
      let index = StreamIndex(streams.count)
      streams.append((stream, .unknown))
      indices[stream] = index
      return index
    }
  }

  private let state = Mutex(State())
  private let growing = Mutex(Growing())

  package init() {}

  /// - Parameters:
  ///   - manifest: the URL under which clients request the manifest.
  ///   - stream: the key of the stream's first manifest, which may be this one.
  package func insert(_ parts: StreamParts, of manifest: URL, in stream: CacheKey) {
    state.withLock { state in
      let index = parts.isStream ? state.index(of: stream) : nil
      // Unknown parts are revalidated, which is always right.
      if state.parts.count + parts.roles.count >= Self.capacity { state.parts = [:] }
      if state.directories.count + parts.directories.count > Self.directoryCapacity {
        (state.directories, state.longestDirectory) = ([:], 0)
      }
      for (hash, role) in parts.roles.prefix(Self.capacity) {
        let known = state.parts[hash]
        // A playlist stays one, although another playlist names it as a segment or a key.
        if role != .other, known?.role == .other { continue }
        // A list of songs takes nothing from a stream.
        state.parts[hash] = Part(role: role, stream: index ?? known?.stream)
      }
      guard let index else { return }
      if parts.use != .unknown { state.streams[Int(index)].use = parts.use }
      let hash = StreamParts.hash(manifest.absoluteString.utf8)
      state.parts[hash] = Part(role: .other, stream: index)
      for directory in parts.directories.prefix(Self.directoryCapacity) {
        let hash = StreamParts.hash(directory.utf8)
        var known = state.directories[hash, default: []].filter { $0.stream != index }
        known.append(Files(stream: index, names: parts.names))
        state.directories[hash] = known.suffix(Self.mostStreamsOfDirectory)
        state.longestDirectory = max(state.longestDirectory, directory.utf8.count)
      }
    }
  }

  /// The segments of low-latency streams whose parts are ranges of them: clients request such a
  /// segment while the origin writes it (draft-pantos-hls-rfc8216bis §4.4.4.9, §4.4.5.3).
  private struct Growing {
    static let capacity = 2048
    var hashes: Set<UInt64> = []
    /// Those inserted before: the first ones of all have ended long ago.
    var before: Set<UInt64> = []
  }

  /// - Parameter hashes: those of the URLs of segments that may still grow.
  package func insert(growing hashes: [UInt64]) {
    guard !hashes.isEmpty else { return }
    growing.withLock { growing in
      if growing.hashes.count >= Growing.capacity {
        (growing.before, growing.hashes) = (growing.hashes, [])
      }
      growing.hashes.formUnion(hashes)
    }
  }

  package func isGrowing(_ url: URL) -> Bool {
    growing.withLock { growing in
      guard !growing.hashes.isEmpty else { return false }
      let hash = StreamParts.hash(url.absoluteString.utf8)
      return growing.hashes.contains(hash) || growing.before.contains(hash)
    }
  }

  /// Inserts a manifest to which clients are redirected.
  package func insert(redirected manifest: URL, in stream: CacheKey) {
    var parts = StreamParts()
    parts.isStream = true
    insert(parts, of: manifest, in: stream)
  }

  /// Whether a URL is that of a segment or a key.
  package func contains(_ url: URL) -> Bool {
    find(url.absoluteString).map { $0.role != .other } ?? false
  }

  /// Returns the group of the stream to which a URL belongs, and how long its entry stays; nil if no
  /// manifest has named it.
  package func policy(of url: URL) -> ResourcePolicy? {
    guard let (role, stream) = find(url.absoluteString), let stream else { return nil }
    var policy = ResourcePolicy.streams
    policy.group = ResourcePolicy.Group(first: stream.key, isSecret: role == .key)
    if role == .segment, case .passing(let time) = stream.use { policy.keep = time }
    return policy
  }

  private typealias Found = (
    role: StreamParts.Role, stream: (key: CacheKey, use: StreamParts.Use)?
  )

  private func find(_ url: String) -> Found? {
    let hash = StreamParts.hash(url.utf8)
    let (part, longest) = state.withLock { state in
      let part = state.parts[hash].map { part -> Found in
        (role: part.role, stream: part.stream.map { state.streams[Int($0)] })
      }
      return (part, state.longestDirectory)
    }
    if let part { return part }
    return longest == 0 ? nil : stream(of: url, longest).map { (.segment, $0) }
  }

  /// Returns the stream whose MPD is in a directory above a URL, and names such a file; nil if
  /// there is none. Others may lie beside the stream's.
  private func stream(
    of url: String, _ longest: Int
  ) -> (key: CacheKey, use: StreamParts.Use)? {
    let path = url.prefix { $0 != "?" }
    guard let slash = path.lastIndex(of: "/") else { return nil }
    let name = path[path.index(after: slash)...]
    let above = Self.directories(above: url, longest: longest)
    return state.withLock { state in
      for directory in above {
        let found = state.directories[directory]?.last { files in
          files.names.contains { $0.matches(name) }
        }
        if let found { return state.streams[Int(found.stream)] }
      }
      return nil
    }
  }

  /// Returns the hashes of the nearest directories that contain a URL, and are no longer than the
  /// longest known one, the innermost first. A directory ends with its slash.
  private static func directories(above url: String, longest: Int) -> [UInt64] {
    var found: [UInt64] = []
    var hash = StreamParts.offset
    for byte in url.utf8.prefix(longest) {
      if byte == UInt8(ascii: "?") { break }
      hash = StreamParts.hash(byte, after: hash)
      guard byte == UInt8(ascii: "/") else { continue }
      if found.count == 2 * mostDirectoriesAbove { found.removeFirst(mostDirectoriesAbove) }
      found.append(hash)
    }
    return found.suffix(mostDirectoriesAbove).reversed()
  }
}

/// The parameters by which a client selects a version of a live playlist (`_HLS_msn`,
/// draft-pantos-hls-rfc8216bis §6.2.5).
extension URL {
  /// The URL of the playlist of which this one is a version; the URL itself if it has none of them.
  package var withoutDeliveryDirectives: URL {
    let text = absoluteString
    guard let mark = text.firstIndex(of: "?"), text[mark...].contains("_HLS_") else { return self }
    let query = text[text.index(after: mark)...].prefix { $0 != "#" }
    let kept = query.split(separator: "&", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("_HLS_") }
    let plain =
      kept.isEmpty ? String(text[..<mark]) : "\(text[...mark])\(kept.joined(separator: "&"))"
    return URL(string: plain) ?? self
  }
}
