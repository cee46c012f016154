// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

/// What the main queue alone has: it is not everywhere the main thread that serves it.
private let mainQueueKey = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

/// Runs it on the main thread: at once where this is it, else as soon as it can be.
///
/// For what the system calls on a thread of its choice. Closures given to the system have to be
/// `@Sendable`: one that takes over the main actor from where it is written stops the program when it
/// is called elsewhere.
func onMainThread(_ body: @escaping @MainActor @Sendable () -> Void) {
  if DispatchQueue.getSpecific(key: mainQueueKey) == true {
    MainActor.assumeIsolated(body)
  } else {
    Task { @MainActor in body() }
  }
}

/// The observers of a notification center, until it is let go.
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
