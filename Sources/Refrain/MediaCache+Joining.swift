// SPDX-License-Identifier: MIT
import RefrainLocks

extension MediaCache {
  /// Keeps a reader of a document open for as long as further readers of the same play may join the
  /// origin's response to it: who looks at a document first, plays it and follows it are several
  /// readers, one after the other. Until then it gives way to whoever needs its place.
  package func keepForOthers(_ reader: MediaReader) {
    let isOver = Atomic(false)
    let release: @Sendable () -> Bool = {
      guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return false }
      reader.cancel()
      return true
    }
    let leases = context.reclaimableLeases
    let lease = leases.add(release)
    Task {
      try? await Task.sleep(for: .seconds(GenerationState.joinSeconds))
      leases.remove(lease)
      _ = release()
    }
  }
}
