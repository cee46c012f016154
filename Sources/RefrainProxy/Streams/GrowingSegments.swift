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
