// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

/// Marks the main queue, which is not served by the main thread on every platform.
private let mainQueueKey = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

/// Runs `body` on the main actor: at once if called on the main queue, otherwise soon.
///
/// For callbacks that the system makes on any thread. Closures passed to the system have to be
/// `@Sendable`: one that inherits the main actor from its context stops the program when called
/// elsewhere.
func onMainThread(_ body: @escaping @MainActor @Sendable () -> Void) {
  if DispatchQueue.getSpecific(key: mainQueueKey) == true {
    MainActor.assumeIsolated(body)
  } else {
    Task { @MainActor in body() }
  }
}

/// Observers of the default notification center, removed when this object is released.
final class NotificationObservers {
  private let center = NotificationCenter.default
  private var tokens: [any NSObjectProtocol] = []

  /// - Parameter block: called on the thread that posts.
  func add(
    _ name: Notification.Name, of object: AnyObject,
    _ block: @escaping @Sendable (Notification) -> Void
  ) {
    tokens.append(center.addObserver(forName: name, object: object, queue: nil, using: block))
  }

  deinit {
    for token in tokens { center.removeObserver(token) }
  }
}
