// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Everything behind the page of a proxy: what it shows, and what it can do.
final class Page: Sendable {
  let traffic: PageTraffic
  let problems: PageProblemLog
  let feed: PageFeed
  let downloads: PageDownloads
  private let savings: PageSavingsFile

  /// - Parameters:
  ///   - relayed: returns the bytes that were received beside the cache so far.
  ///   - resource: returns the resource by which a URL is requested.
  init(
    cache: MediaCache, relayed: @Sendable @escaping () -> Int64,
    resource: @Sendable @escaping (URL) -> Resource
  ) {
    traffic = PageTraffic { cache.now.wall }
    problems = PageProblemLog(cache)
    feed = PageFeed(cache: cache, traffic: traffic, problems: problems, relayed: relayed)
    downloads = PageDownloads(cache: cache, resource: resource)
    savings = PageSavingsFile(cache, traffic)
  }

  /// Called before the proxy begins to listen.
  func open() async {
    problems.start()
    await savings.open()
  }

  /// Called now and then while the proxy runs.
  func saveIfDue() async { await savings.saveIfDue() }

  /// Ends the downloads, and records the savings. Called when no response is under way.
  func close() async {
    await downloads.stop()
    await feed.stop()
    await savings.save()
    await problems.stop()
  }
}
