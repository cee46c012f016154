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
  private let queue: PageQueueFile

  /// - Parameters:
  ///   - relayed: returns the bytes that were received beside the cache so far.
  ///   - resource: returns the resource by which a URL is requested.
  ///   - isAllowed: whether a URL may be requested.
  init(
    cache: MediaCache, relayed: @Sendable @escaping () -> Int64,
    resource: @Sendable @escaping (URL) -> Resource,
    isAllowed: @Sendable @escaping (URL) -> Bool
  ) {
    traffic = PageTraffic { cache.now.wall }
    problems = PageProblemLog(cache)
    feed = PageFeed(cache: cache, traffic: traffic, problems: problems, relayed: relayed)
    downloads = PageDownloads(cache: cache, resource: resource)
    savings = PageSavingsFile(cache, traffic)
    queue = PageQueueFile(cache, downloads, isAllowed: isAllowed)
  }

  /// Called before the proxy begins to listen.
  func open() async {
    problems.start()
    await savings.open()
    await queue.follow()
  }

  /// Called now and then while the proxy runs.
  func saveIfDue() async {
    await savings.saveIfDue()
    await queue.follow()
  }

  /// Ends the downloads, and stores the queue for the program that takes over.
  func handOver() async {
    await downloads.stop()
    await queue.close()
  }

  /// Ends the downloads, and records the queue and the savings. Called when no response is under
  /// way.
  func close() async {
    await handOver()
    await feed.stop()
    await savings.save()
    await problems.stop()
  }
}
