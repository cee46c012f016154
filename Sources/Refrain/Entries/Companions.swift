// SPDX-License-Identifier: MIT
import RefrainLocks

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
