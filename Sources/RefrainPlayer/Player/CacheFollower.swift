// SPDX-License-Identifier: MIT
import Refrain
import RefrainLocks

/// Reports how much of a resource is stored and which ranges are being fetched: at once and on each
/// change, at most ten times a second, until this object is released.
final class CacheFollower: Sendable {
  struct Activity: Sendable {
    var progress: CacheProgress?
    var fetching = RangeSet<Int64>()
    var streamTitle: StreamTitle?
  }

  let id: EngineItem.ID
  private let tasks: [Task<Void, Never>]

  init(
    of resource: Resource, in cache: MediaCache, as id: EngineItem.ID,
    tell: @escaping @MainActor (Activity) -> Void
  ) {
    self.id = id
    let (news, post) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let shared = Shared()
    let key = cache.key(for: resource)
    let progress = cache.progressUpdates(of: resource)
    let events = cache.events(includingTraffic: false)
    tasks = [
      Task {
        for await now in progress {
          shared.note(now)
          post.yield()
        }
      },
      Task {
        for await event in events where shared.note(event, of: key) { post.yield() }
        post.finish()
      },
      Task { [weak cache] in
        for await _ in news {
          if Task.isCancelled { return }
          var activity = shared.now
          // Events alone do not say what runs: requests may overlap, or be shortened.
          if let ranges = cache?.fetchingRanges(of: key) { activity.fetching = ranges }
          await tell(activity)
          // On cancellation, the stream ends.
          try? await Task.sleep(for: .milliseconds(100))
        }
      },
    ]
  }

  deinit {
    for task in tasks { task.cancel() }
  }

  /// The parts of an activity that are reported; which fetches run is asked.
  private final class Shared: Sendable {
    private let activity = Mutex(Activity())

    var now: Activity { activity.withLock { $0 } }

    func note(_ progress: CacheProgress) { activity.withLock { $0.progress = progress } }

    /// Records the event if it concerns the resource, and returns whether it does.
    func note(_ event: CacheEvent, of resource: CacheKey) -> Bool {
      switch event {
      case .fetchStarted(let key, _), .fetchFinished(let key, _, _): return key == resource
      case .streamTitle(let key, let title) where key == resource:
        activity.withLock { $0.streamTitle = title }
      default: return false
      }
      return true
    }
  }
}
