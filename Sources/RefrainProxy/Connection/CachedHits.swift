// SPDX-License-Identifier: MIT
import NIOCore
import Refrain
import Synchronization

/// The recently requested resources, by the target of the request. Few, and not for long: held
/// entries are not evicted.
final class CachedHits: Sendable {
  private static let capacity = 64
  private static let patience = TimeAmount.seconds(10)

  private let resources = Mutex<[String: CachedHit]>([:])

  func resource(for target: String) -> CachedHit? {
    resources.withLock { $0[target] }
  }

  func insert(_ resource: CachedHit, for target: String) {
    let dropped = resources.withLock { resources in
      var dropped = [resources.updateValue(resource, forKey: target)].compactMap { $0 }
      if resources.count > Self.capacity { dropped += Self.takeUnused(&resources, for: .zero) }
      return dropped
    }
    for resource in dropped { resource.release() }
  }

  /// Releases resources that were not requested for a while.
  func releaseUnused() {
    let dropped = resources.withLock { Self.takeUnused(&$0, for: Self.patience) }
    for resource in dropped { resource.release() }
  }

  /// - Returns: whether there were any.
  @discardableResult
  func releaseAll() -> Bool {
    let dropped = resources.withLock { resources in
      defer { resources = [:] }
      return Array(resources.values)
    }
    for resource in dropped { resource.release() }
    return !dropped.isEmpty
  }

  /// Removes and returns unused resources. If room is needed, leaves half of the capacity: most
  /// insertions then need no search.
  private static func takeUnused(
    _ resources: inout [String: CachedHit], for patience: TimeAmount
  ) -> [CachedHit] {
    let deadline = NIODeadline.now() - patience
    var dropped: [CachedHit] = []
    for (target, resource) in resources where !resource.wasUsed(since: deadline) {
      if patience == .zero, resources.count <= capacity / 2 { break }
      dropped.append(resource)
      resources[target] = nil
    }
    return dropped
  }
}
