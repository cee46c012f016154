// SPDX-License-Identifier: MIT
import Foundation

/// For front ends that answer HTTP requests.
extension MediaCache {
  /// Records that a request may have changed the resource (RFC 9111 §4.4).
  package func invalidate(_ resource: Resource) async throws {
    let key = key(for: resource)
    if table.openEntry(for: key) == nil, try await self.entry(for: key) == nil { return }
    let entry = try await entry(for: key, completed(resource))
    defer { entry.release() }
    entry.invalidate()
  }

  /// Whether a response is arriving for others that a request on these terms cannot share: each
  /// response to it has other bytes, and would end the readers of the arriving one. Media of known
  /// length is shared all the same: a player requests it piece by piece.
  package func isArrivingForOthers(_ key: CacheKey, on terms: ReadTerms) -> Bool {
    guard let generation = table.openEntry(for: key)?.current else { return false }
    return generation.withState { state in
      let isMadeAnew =
        (state.length == nil || !state.isReadInPieces) && state.freshness?.pace == nil
        && state.validator.conditional.isEmpty
      return state.info != nil && (isMadeAnew || state.isOneResponse)
        && !state.isComplete && !state.isLive && state.hasBeenRead
        && !state.isUsable(on: terms, at: now)
    }
  }

  /// Holds the entry of a reader open, to answer requests from it at once; nil if it is closed.
  package func hold(_ reader: MediaReader) -> EntryLease? { EntryLease(reader.entry) }

  /// Registers a closure as `EntryTable.addHolder` does.
  package func releaseIdleLeases(by release: @escaping @Sendable () -> Bool) -> UInt64 {
    table.addHolder(release)
  }

  package func forgetIdleLeases(_ id: UInt64) { table.removeHolder(id) }

  package var longestSilence: Duration { max(origin.silenceTimeout, origin.responseTimeout) }

  package var now: Moment { origin.now }

  package var isShared: Bool { configuration.isShared }

  /// Keeps a reader of a document open while further readers of the same play may join it.
  package func keepForOthers(_ reader: MediaReader) {
    Task {
      // Nothing cancels this task, so `sleep` cannot throw.
      try? await Task.sleep(for: .seconds(GenerationState.joinSeconds))
      reader.cancel()
    }
  }

  /// Returns what a library over the core keeps in memory for this cache until `removeAll`. `make`
  /// must only compute.
  package func companion<Value: Sendable>(_ make: () -> Value) -> Value {
    origin.withMemory { memory in
      let type = ObjectIdentifier(Value.self)
      if let known = memory.companions[type] as? Value { return known }
      let new = make()
      memory.companions[type] = new
      return new
    }
  }

  package func report(warning: String) { events.send(.warning(warning)) }

  /// Counts bytes of a relayed response, and pauses for as long as `originRate` requires.
  package func paceOrigin(_ count: Int) async { await origin.keepPace(after: count) }
}
