// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The playlists, segments and keys of streams that clients play, and to which stream they belong.
///
/// Segments and keys do not change under their URLs (RFC 8216 §6.2.1): the manifest is revalidated,
/// and they are used without that, unless the origin forbids it.
final class KnownParts: Sendable {
  private static let capacity = 500_000
  private static let directoryCapacity = 4096
  private static let streamCapacity = 16_384
  /// More MPDs in one directory are not distinguished.
  private static let mostStreamsOfDirectory = 16
  /// Directories further above a URL are not found.
  private static let mostDirectoriesAbove = 64
  private static let secondsBetweenChecks: UInt32 = 600
  /// A film is played, paused and seeked for so long after its playlist was requested.
  private static let patience = TimeAmount.hours(12)

  /// The index of a stream in `State.streams`.
  private typealias StreamIndex = UInt32

  /// Small: there are 100,000s of them.
  private struct Part {
    /// In seconds.
    var until: UInt32
    private var bits: UInt32

    init(_ role: StreamParts.Role, of stream: StreamIndex?, until: UInt32) {
      self.until = until
      bits = (stream.map { $0 + 1 } ?? 0) << 2 | UInt32(role.rawValue)
    }

    /// Nil if a list of songs named the resource.
    var stream: StreamIndex? { bits >> 2 == 0 ? nil : (bits >> 2) - 1 }

    var role: StreamParts.Role { StreamParts.Role(rawValue: UInt8(bits & 3)) ?? .other }
  }

  private struct Directory {
    var until: UInt32
    /// The length of its URL in bytes.
    var length: Int
    /// The newest last.
    var streams: [(stream: StreamIndex, names: Set<PartName>)] = []
  }

  private struct State {
    var parts: [UInt64: Part] = [:]
    /// By the hashes of their URLs.
    var directories: [UInt64: Directory] = [:]
    /// The greatest length of a directory; 0 if there is none.
    var longestDirectory = 0
    var nextCheck: UInt32 = 0
    var streams: [CacheKey] = []
    var indices: [CacheKey: StreamIndex] = [:]

    mutating func index(of stream: CacheKey) -> StreamIndex {
      if let known = indices[stream] { return known }
      // Indices of forgotten streams must not be left.
      if streams.count >= streamCapacity { self = State() }
      let index = StreamIndex(streams.count)
      streams.append(stream)
      indices[stream] = index
      return index
    }

    mutating func forgetExpiredDirectories(at now: UInt32) {
      guard now >= nextCheck else { return }
      nextCheck = now + secondsBetweenChecks
      directories = directories.filter { $0.value.until > now }
      longestDirectory = directories.values.lazy.map(\.length).max() ?? 0
    }
  }

  private let state = Mutex(State())

  private static func seconds(_ time: NIODeadline) -> UInt32 {
    UInt32(clamping: time.uptimeNanoseconds / 1_000_000_000)
  }

  /// - Parameters:
  ///   - manifest: the URL under which clients request the manifest.
  ///   - stream: the key of the stream's first manifest, which may be this one.
  func insert(_ parts: StreamParts, of manifest: URL, in stream: CacheKey) {
    let now = NIODeadline.now()
    let until = Self.seconds(now + Self.patience)
    let start = Self.seconds(now)
    state.withLock { state in
      let index = parts.isStream ? state.index(of: stream) : nil
      state.forgetExpiredDirectories(at: start)
      // Unknown parts are revalidated, which is always right.
      if state.parts.count + parts.roles.count >= Self.capacity { state.parts = [:] }
      if state.directories.count + parts.directories.count > Self.directoryCapacity {
        (state.directories, state.longestDirectory) = ([:], 0)
      }
      for (hash, role) in parts.roles.prefix(Self.capacity) {
        let known = state.parts[hash].flatMap { $0.until > start ? $0 : nil }
        // A playlist stays one, although another playlist names it as a segment or a key.
        if role != .other, known?.role == .other { continue }
        // A list of songs takes nothing from a stream.
        state.parts[hash] = Part(role, of: index ?? known?.stream, until: until)
      }
      if let index {
        let hash = StreamParts.hash(manifest.absoluteString.utf8)
        state.parts[hash] = Part(.other, of: index, until: until)
      }
      for directory in parts.directories.prefix(Self.directoryCapacity) {
        let hash = StreamParts.hash(directory.utf8)
        let length = directory.utf8.count
        var known = state.directories[hash] ?? Directory(until: until, length: length)
        known.until = until
        if let index {
          known.streams.removeAll { $0.stream == index }
          known.streams.append((index, parts.names))
          if known.streams.count > Self.mostStreamsOfDirectory { known.streams.removeFirst() }
        }
        state.directories[hash] = known
        state.longestDirectory = max(state.longestDirectory, length)
      }
    }
  }

  /// Inserts a manifest to which clients are redirected.
  func insert(redirected manifest: URL, in stream: CacheKey) {
    var parts = StreamParts()
    parts.isStream = true
    insert(parts, of: manifest, in: stream)
  }

  /// Whether a URL is that of a segment or a key.
  func contains(_ url: URL) -> Bool {
    let text = url.absoluteString
    let now = Self.seconds(.now())
    switch find(text) {
    case .part(let part, _): return part.until > now && part.role != .other
    case .none: return false
    case .perhaps(let longest): return stream(of: text, longest, now) != nil
    }
  }

  /// Returns the stream to which a URL belongs; nil if no manifest has named it.
  func membership(of url: URL) -> StreamMembership? {
    let text = url.absoluteString
    let now = Self.seconds(.now())
    switch find(text) {
    case .part(let part, let stream):
      guard part.until > now, let stream else { return nil }
      return StreamMembership(stream: stream, isKey: part.role == .key)
    case .none: return nil
    case .perhaps(let longest):
      return stream(of: text, longest, now).map { StreamMembership(stream: $0) }
    }
  }

  /// Returns the stream whose MPD is in a directory above a URL, and names such a file; nil if
  /// there is none. Others may lie beside the stream's.
  private func stream(of url: String, _ longest: Int, _ now: UInt32) -> CacheKey? {
    let path = url.prefix { $0 != "?" }
    guard let slash = path.lastIndex(of: "/") else { return nil }
    let name = path[path.index(after: slash)...]
    let above = Self.directories(above: url, longest: longest)
    return state.withLock { state in
      for directory in above {
        guard let known = state.directories[directory], known.until > now,
          let found = known.streams.last(where: { $0.names.contains { $0.matches(name) } })
        else { continue }
        return state.streams[Int(found.stream)]
      }
      return nil
    }
  }

  private enum Finding {
    case part(Part, stream: CacheKey?)
    /// A known directory may contain the URL; the longest one has so many bytes.
    case perhaps(longestDirectory: Int)
    case none
  }

  private func find(_ url: String) -> Finding {
    let hash = StreamParts.hash(url.utf8)
    return state.withLock { state in
      if let part = state.parts[hash] {
        return .part(part, stream: part.stream.map { state.streams[Int($0)] })
      }
      let longest = state.longestDirectory
      return longest == 0 ? .none : .perhaps(longestDirectory: longest)
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
