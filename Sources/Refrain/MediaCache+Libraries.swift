// SPDX-License-Identifier: MIT
package import Foundation
import RefrainLocks

/// For libraries over the core.
extension MediaCache {
  /// Returns what a library over the core keeps in memory for this cache, made by `make` the first
  /// time. `removeAll` forgets it.
  package func companion<Value: Sendable>(_ make: () -> Value) -> Value {
    companions.value(make)
  }

  package var privateFiles: PrivateFiles { PrivateFiles(budget) }

  /// Sends a warning to the listeners of `events`.
  package func report(warning: String) { events.send(.warning(warning)) }

  /// Counts bytes of a relayed response, and pauses for as long as `originRate` requires.
  package func paceOrigin(_ count: Int) async { await origin.pace.received(count) }

  /// Returns the newest URL of a stored document after redirects, whose earlier one the origin
  /// refuses; nil if no newer one is known. The stored document is that of the newest URL from then
  /// on.
  ///
  /// - Parameters:
  ///   - url: the earlier URL after redirects.
  ///   - fields: those that further requests may have. Where a redirect leads that the origin
  ///     gave to other credentials is not told: the URL may grant access.
  package func relocate(from url: URL, for fields: [HeaderFields]) async -> URL? {
    guard let move = origin.withMemory({ $0.moved.move(from: url) }) else { return nil }
    let asked = move.resource
    let granted = [HeaderFields()] + fields
    // What cannot be opened is not stored.
    guard
      granted.contains(where: {
        Credentials.of(Resource(url: asked.url, headers: $0)) == Credentials.of(asked)
      }),
      let reader = try? await open(move.resource, fill: .onDemand)
    else { return nil }
    defer { reader.cancel() }
    reader.entry.current?.withState { state in
      state.representation.info?.finalURL = move.target
      state.storage.noteRecordStale()
    }
    return move.target
  }

  /// Whether redirects that led to a URL lead to another one by now.
  package func hasMoved(from url: URL) -> Bool {
    origin.withMemory { $0.moved.move(from: url) != nil }
  }
}

/// What a library over the core keeps in memory for a cache, one value of each type: as long as the
/// cache lives, or until everything is removed from it.
final class Companions: Sendable {
  private let values = Mutex<[ObjectIdentifier: any Sendable]>([:])

  /// Returns the value of a type, made by `make` the first time.
  func value<Value: Sendable>(_ make: () -> Value) -> Value {
    values.withLock { values in
      let type = ObjectIdentifier(Value.self)
      if let known = values[type] as? Value { return known }
      let new = make()
      values[type] = new
      return new
    }
  }

  func removeAll() { values.withLock { $0 = [:] } }
}
