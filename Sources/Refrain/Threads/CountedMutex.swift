// SPDX-License-Identifier: MIT
import RefrainLocks

/// A lock that is taken for every chunk and every read. In a build for debugging it counts how often:
/// a test holds the path of a byte to that number.
struct CountedMutex<Value: Sendable>: ~Copyable, Sendable {
  private let mutex: Mutex<Value>
  #if DEBUG
    private let taken = Atomic(0)
    var count: Int { taken.load(ordering: .relaxed) }
  #endif

  init(_ value: Value) { mutex = Mutex(value) }

  func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    #if DEBUG
      taken.add(1, ordering: .relaxed)
    #endif
    return try mutex.withLock { value throws(Failure) in try body(&value) }
  }
}
