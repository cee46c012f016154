// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import RefrainLocks

  /// The exchange between an asset's loader and its delegate. It outlives the asset.
  package final class AssetLog: Sendable {
    private struct State {
      var violations: [String] = []
      var information: StandInInformation?
      var accepted = 0
      var open: [UInt64: Wish] = [:]
      var next: UInt64 = 0
      var bytes: Int64 = 0
    }
    private let state = Mutex(State())

    /// The delegate's violations of the contract, a sentence each.
    package var violations: [String] { state.withLock { $0.violations } }
    /// Requests that the delegate accepted, and that were neither finished nor cancelled.
    package var unfinished: [Wish] { state.withLock { Array($0.open.values) } }
    /// The number of requests that the delegate accepted.
    package var accepted: Int { state.withLock { $0.accepted } }
    /// The number of bytes that it delivered.
    package var bytes: Int64 { state.withLock { $0.bytes } }
    /// The delegate's content information, from any request.
    package var information: StandInInformation? { state.withLock { $0.information } }

    func violation(_ text: String) { state.withLock { $0.violations.append(text) } }

    func accept(_ wish: Wish) -> UInt64 {
      state.withLock { state in
        state.accepted += 1
        state.next += 1
        state.open[state.next] = wish
        return state.next
      }
    }

    func end(_ id: UInt64?) {
      guard let id else { return }
      state.withLock { $0.open[id] = nil }
    }

    func note(_ information: StandInInformation) {
      state.withLock { $0.information = information }
    }

    func count(_ bytes: Int) { state.withLock { $0.bytes += Int64(bytes) } }
  }
#endif
