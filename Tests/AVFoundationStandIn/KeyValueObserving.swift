// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation
  import RefrainLocks

  /// The change itself, of which no observer here asks for the values.
  public struct NSKeyValueObservedChange<Value>: Sendable {}

  /// Ends when it is invalidated or released.
  public final class NSKeyValueObservation: NSObject, Sendable {
    let isLive = Liveness()

    public func invalidate() { isLive.end() }

    deinit { isLive.end() }
  }

  final class Liveness: Sendable {
    private let value = Mutex(true)
    var isLive: Bool { value.withLock { $0 } }
    func end() { value.withLock { $0 = false } }
  }

  /// Unchecked: only the one thread that reports it uses it.
  private struct LateChange<Object: AnyObject, Value>: @unchecked Sendable {
    weak var object: Object?
    let change: NSKeyValueObservedChange<Value>
  }

  public protocol KeyValueObserved: AnyObject {}

  /// An object with key-value observing as in Foundation on Apple's platforms: compares the observed
  /// values with the previous ones whenever something may have changed, and reports on the main
  /// thread.
  @MainActor open class ObservedObject: NSObject {
    private struct Observer {
      let isLive: Liveness
      let compare: @MainActor () -> Void
    }
    private var observers: [Observer] = []
    /// The delay of reports after a change, which then come on another thread; nil: at once, on the
    /// main one.
    package var standInChangeLag: Duration?

    /// Reports every observed value that has changed.
    func tellObservers() {
      observers.removeAll { !$0.isLive.isLive }
      for observer in observers where observer.isLive.isLive { observer.compare() }
    }

    /// The number of its observations that have not ended.
    package var standInObservationCount: Int { observers.count { $0.isLive.isLive } }

    fileprivate func add(_ isLive: Liveness, _ compare: @escaping @MainActor () -> Void) {
      observers.append(Observer(isLive: isLive, compare: compare))
    }
  }

  extension KeyValueObserved where Self: ObservedObject {
    @MainActor public func observe<Value: Equatable>(
      _ keyPath: KeyPath<Self, Value>,
      changeHandler: @escaping @Sendable (Self, NSKeyValueObservedChange<Value>) -> Void
    ) -> NSKeyValueObservation {
      let observation = NSKeyValueObservation()
      let change = NSKeyValueObservedChange<Value>()
      var last = self[keyPath: keyPath]
      // Nothing here may retain the observation: it ends when it is released.
      let isLive = observation.isLive
      add(isLive) { [weak self] in
        guard let self, self[keyPath: keyPath] != last else { return }
        last = self[keyPath: keyPath]
        guard let lag = standInChangeLag else { return changeHandler(self, change) }
        let late = LateChange(object: self, change: change)
        Task.detached {
          try await Task.sleep(for: lag)
          if let object = late.object, isLive.isLive { changeHandler(object, late.change) }
        }
      }
      return observation
    }
  }
#endif
