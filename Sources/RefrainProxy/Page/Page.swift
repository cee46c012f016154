// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Everything behind the page of a proxy: what it shows, and what it can do.
final class Page: Sendable {
  private struct State {
    /// Nil while nobody looks at the page.
    var feed: PageFeed?
    var visitors = 0
    var collecting: Task<Void, Never>?
  }

  let downloads: PageDownloads
  private let cache: MediaCache
  private let traffic: Traffic
  private let state = Mutex(State())

  /// - Parameter resource: returns the resource by which a URL is requested.
  init(
    cache: MediaCache, traffic: Traffic, resource: @Sendable @escaping (URL) -> Resource
  ) {
    (self.cache, self.traffic) = (cache, traffic)
    downloads = PageDownloads(cache: cache, resource: resource)
  }

  /// The number of visitors now.
  var visitors: Int { state.withLock(\.visitors) }

  /// Ends after the last visitor has left; nil before the first one.
  var collecting: Task<Void, Never>? { state.withLock(\.collecting) }

  /// Calls `body` once the directory has been looked at. The rows are kept up to date as long as
  /// there are visitors.
  ///
  /// - Throws: `HTTPError` if the directory cannot be read; the error of `body`.
  func visit<Result>(_ body: (PageFeed) async throws -> Result) async throws -> Result {
    let feed = enter()
    defer { leave() }
    try await feed.waitUntilReady()
    return try await body(feed)
  }

  private func enter() -> PageFeed {
    state.withLock { state in
      state.visitors += 1
      if let feed = state.feed { return feed }
      let feed = PageFeed(cache: cache, traffic: traffic, downloads: downloads)
      state.feed = feed
      // What is left of the one before ends soon.
      let before = state.collecting
      // Looking at a large cache takes long.
      state.collecting = Task(executorPreference: IOThreads.background) {
        await feed.collect()
        await before?.value
      }
      return feed
    }
  }

  private func leave() {
    state.withLock { state in
      state.visitors -= 1
      guard state.visitors == 0 else { return }
      state.feed = nil
      state.collecting?.cancel()
    }
  }

  /// Ends the downloads. Called when no response is under way.
  func close() async {
    await downloads.stop()
    await collecting?.value
  }
}
