// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain
import RefrainLocks

/// The segments and keys of streams that clients play. They do not change under their URLs (RFC
/// 8216 §6.2.1): the manifest is revalidated, and they are used without that, unless the origin
/// forbids it.
final class KnownParts: Sendable {
  private static let capacity = 500_000
  private static let directoryCapacity = 4096
  /// A film is played, paused and seeked for so long after its playlist was requested.
  private static let patience = TimeAmount.hours(12)

  /// The extensions of segments, by which they are found in a directory with other files.
  private static let extensions: Set<String> = [
    "m4s", "mp4", "m4a", "m4v", "m4f", "cmfv", "cmfa", "cmft", "cmfm", "ts", "aac", "mp3", "webm",
    "vtt", "ttml", "dash",
  ]

  private struct State {
    var hashes: [UInt64: NIODeadline] = [:]
    var directories: [String: NIODeadline] = [:]
  }

  private let state = Mutex(State())

  func insert(_ parts: StreamParts) {
    let until = NIODeadline.now() + Self.patience
    state.withLock { state in
      // Unknown parts are revalidated, which is always right.
      if state.hashes.count + parts.hashes.count > Self.capacity { state.hashes = [:] }
      if state.directories.count + parts.directories.count > Self.directoryCapacity {
        state.directories = [:]
      }
      for hash in parts.hashes.prefix(Self.capacity) { state.hashes[hash] = until }
      for directory in parts.directories.prefix(Self.directoryCapacity) {
        state.directories[directory] = until
      }
    }
  }

  func contains(_ url: URL) -> Bool {
    let text = url.absoluteString
    let now = NIODeadline.now()
    return state.withLock { state in
      if let until = state.hashes[StreamParts.hash(text.utf8)] { return until > now }
      guard !state.directories.isEmpty,
        Self.extensions.contains(url.pathExtension.lowercased())
      else { return false }
      var path = text.prefix { $0 != "?" }
      while let slash = path.lastIndex(of: "/") {
        if let until = state.directories[String(path[...slash])], until > now { return true }
        path = path[..<slash]
      }
      return false
    }
  }
}
