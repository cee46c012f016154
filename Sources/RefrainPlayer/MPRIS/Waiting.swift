// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import RefrainLocks

  /// Waiting on a thread of one's own.
  enum Waiting {
    /// Runs `body` on the main actor, and returns its result. Never call it on the main thread, or
    /// on one of Swift's cooperative threads.
    static func forMainActor<Result: Sendable>(
      _ body: @escaping @MainActor @Sendable () -> Result
    ) -> Result {
      let box = Box<Result>()
      Task { @MainActor in box.put(body()) }
      return box.take()
    }

    /// A semaphore, since the waiting thread is of no use to Swift's tasks meanwhile.
    private final class Box<Value: Sendable>: Sendable {
      private let value = Mutex<Value?>(nil)
      private let isThere = DispatchSemaphore(value: 0)

      func put(_ value: Value) {
        self.value.withLock { $0 = value }
        isThere.signal()
      }

      func take() -> Value {
        while true {
          isThere.wait()
          if let value = value.withLock({ $0 }) { return value }
        }
      }
    }
  }
#endif
