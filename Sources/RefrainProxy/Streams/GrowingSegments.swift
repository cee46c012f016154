// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainStreams

/// The segments of low-latency streams whose parts are ranges of them: clients request such a
/// segment while the origin writes it (draft-pantos-hls-rfc8216bis §4.4.4.9, §4.4.5.3).
final class GrowingSegments: Sendable {
  private static let capacity = 4096

  private struct State {
    var hashes: Set<UInt64> = []
    /// The first inserted first.
    var order: [UInt64] = []
  }

  private let state = Mutex(State())

  /// - Parameter hashes: those of their URLs (`StreamParts.hash`).
  func insert(_ hashes: [UInt64]) {
    guard !hashes.isEmpty else { return }
    state.withLock { state in
      for hash in hashes {
        if state.hashes.insert(hash).inserted { state.order.append(hash) }
      }
      guard state.order.count > Self.capacity else { return }
      for hash in state.order.prefix(state.order.count - Self.capacity / 2) {
        state.hashes.remove(hash)
      }
      state.order.removeFirst(state.order.count - Self.capacity / 2)
    }
  }

  func contains(_ url: URL) -> Bool {
    state.withLock { state in
      !state.hashes.isEmpty
        && state.hashes.contains(StreamParts.hash(url.absoluteString.utf8))
    }
  }
}

/// The parameters by which a client selects a version of a live playlist (`_HLS_msn`,
/// draft-pantos-hls-rfc8216bis §6.2.5).
extension URL {
  /// The URL of the playlist of which this one is a version; the URL itself if it has none of them.
  var withoutDeliveryDirectives: URL {
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
