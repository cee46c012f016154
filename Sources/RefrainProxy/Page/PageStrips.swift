// SPDX-License-Identifier: MIT
import Refrain

/// Draws the strips of the streams that have changed, by their stored playlists. Runs on a task of
/// `IOThreads.background`: a long playlist takes seconds.
struct PageStrips: Sendable {
  /// The time between two rounds.
  private static let pace: Duration = .milliseconds(500)
  /// The most streams of a round: those that were used last come first.
  private static let most = 100

  let cache: MediaCache
  let feed: PageFeed

  /// Draws until the task is cancelled.
  func follow() async {
    var plans = KeptPlans()
    while !Task.isCancelled {
      for key in feed.takeOutdatedStreams(Self.most) {
        // Only cancelling ends it early.
        guard (try? await draw(key, &plans)) != nil else { return }
      }
      try? await Task.sleep(for: Self.pace)
    }
  }

  private func draw(_ key: CacheKey, _ plans: inout KeptPlans) async throws {
    if let kept = plans.take(key), feed.marks(of: kept.plan.manifests) == kept.marks {
      feed.draw(kept.plan, of: key)
      return plans.keep(kept, of: key)
    }
    let plan = try await PageStream(cache: cache).plan(of: key)
    let marks = feed.marks(of: plan.manifests)
    // What changes meanwhile may be newer than what was read.
    guard feed.draw(plan, of: key), plan.isKnown else { return }
    plans.keep(.init(plan: plan, marks: marks), of: key)
  }
}

/// The plans of the streams that changed last: while a stream plays, its playlists are not read
/// again for each of its parts. A pure value.
struct KeptPlans: Sendable {
  struct Kept: Sendable {
    var plan: PagePlan
    /// Of the manifests, when the plan was made.
    var marks: [PagePlan.Mark?]
  }

  /// The most plans.
  static let most = 32

  /// The most recently used last.
  private var all: [(key: CacheKey, kept: Kept)] = []

  /// The number of parts of all plans.
  private var count: Int { all.reduce(0) { $0 + $1.kept.plan.count } }

  /// Returns and removes a plan.
  mutating func take(_ key: CacheKey) -> Kept? {
    guard let index = all.firstIndex(where: { $0.key == key }) else { return nil }
    return all.remove(at: index).kept
  }

  /// Keeps a plan in place of the oldest ones, if there is no room for all.
  mutating func keep(_ kept: Kept, of key: CacheKey) {
    _ = take(key)
    all.append((key, kept))
    while all.count > Self.most || (all.count > 1 && count > PagePlan.mostParts) {
      all.removeFirst()
    }
  }
}
