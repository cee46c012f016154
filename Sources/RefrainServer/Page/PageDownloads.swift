// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainProxy
import RefrainStreams

/// The downloads that a person has asked for, until they are complete. Those of an ended program are
/// forgotten; their bytes stay.
final class PageDownloads: Sendable {
  struct Item: Sendable, Hashable, Encodable {
    enum State: String, Sendable, Encodable { case waiting, running, paused, failed }

    var url: String
    var isPinned: Bool
    var state = State.waiting
    /// The estimated size of a stream in bytes; nil while unknown.
    var total: Int64?
    /// With the remedy.
    var error: String?
  }

  private struct Download {
    let id = UUID()
    var key: CacheKey
    var resource: Resource
    var item: Item
    var task: Task<Void, Never>?
  }

  /// The downloads that run at a time.
  static let width = 2
  /// The most downloads, paused and failed ones included.
  static let most = 1000
  static let unknown = HTTPError(404, "This is not being fetched any more.")

  private let cache: MediaCache
  /// In the order in which they were added; nil once the proxy has stopped.
  private let downloads = Mutex<[Download]?>([])

  init(cache: MediaCache) { self.cache = cache }

  var items: [CacheKey: Item] {
    downloads.withLock { downloads in
      Dictionary((downloads ?? []).map { ($0.key, $0.item) }) { _, last in last }
    }
  }

  /// Fetches a resource as soon as there is a place. A paused or failed download goes on; one that
  /// is to be pinned from now on begins once more, and finds its bytes stored. Throws 409 if there
  /// are too many.
  func add(_ resource: Resource, isPinned: Bool) throws(HTTPError) {
    let key = cache.key(for: Resource(url: resource.url))
    // Cancelled outside the lock: that runs the handlers of whatever the task waits for.
    let task = try change { downloads throws(HTTPError) -> Task<Void, Never>? in
      let known = downloads.first { $0.key == key }?.item
      guard known != nil || downloads.count < Self.most else {
        throw HTTPError(409, "Too many downloads have not ended. Cancel some of them first.")
      }
      let isPinned = isPinned || known?.isPinned == true
      let isUnderWay = known?.state == .running || known?.state == .waiting
      guard !isUnderWay || known?.isPinned != isPinned else { return nil }
      let ended = Self.remove(key, from: &downloads)
      let item = Item(url: resource.url.absoluteString, isPinned: isPinned)
      downloads.append(Download(key: key, resource: resource, item: item))
      return ended?.task
    }
    task?.cancel()
  }

  func pause(_ key: CacheKey) throws(HTTPError) {
    let task = try change { downloads throws(HTTPError) -> Task<Void, Never>? in
      guard let index = downloads.firstIndex(where: { $0.key == key }) else { throw Self.unknown }
      guard [.running, .waiting].contains(downloads[index].item.state) else {
        throw HTTPError(409, "Only a running download pauses.")
      }
      defer { downloads[index].task = nil }
      downloads[index].item.state = .paused
      return downloads[index].task
    }
    task?.cancel()
  }

  /// Forgets a download; its bytes stay. Returns false if there is none.
  @discardableResult
  func cancel(_ key: CacheKey) -> Bool {
    let ended = change { Self.remove(key, from: &$0) }
    ended?.task?.cancel()
    return ended != nil
  }

  private static func remove(_ key: CacheKey, from downloads: inout [Download]) -> Download? {
    downloads.firstIndex { $0.key == key }.map { downloads.remove(at: $0) }
  }

  /// Also begins the downloads for which there is a place then.
  private func change<Result, Failure: Error>(
    _ body: (inout [Download]) throws(Failure) -> sending Result
  ) throws(Failure) -> Result {
    try downloads.withLock { state throws(Failure) in
      var downloads = state ?? []
      let result = try body(&downloads)
      guard state != nil else { return result }
      for index in downloads.indices where downloads[index].item.state == .waiting {
        guard downloads.count(where: { $0.item.state == .running }) < Self.width else { break }
        downloads[index].item.state = .running
        downloads[index].task = Task { [download = downloads[index]] in await run(download) }
      }
      state = downloads
      return result
    }
  }

  private func run(_ download: Download) async {
    do {
      try await fetch(download) { total in
        change(download) { $0?.total = total }
      }
      change(download) { $0 = nil }
    } catch {
      change(download) { item in
        item?.state = .failed
        item?.error = "\(error)"
      }
    }
  }

  /// Does nothing if the download of this task was paused or cancelled. Nil removes it.
  private func change(_ download: Download, _ body: (inout Item?) -> Void) {
    change { downloads in
      guard !Task.isCancelled,
        let index = downloads.firstIndex(where: { $0.id == download.id })
      else { return }
      var item: Item? = downloads[index].item
      body(&item)
      if let item { downloads[index].item = item } else { downloads.remove(at: index) }
    }
  }

  private func fetch(_ download: Download, estimated: (Int64?) -> Void) async throws {
    let download = StreamDownload(
      download.resource, into: cache, isPinned: download.item.isPinned)
    let information = try await download.bringFirst()
    guard await download.mayBeStream(information), let source = try await download.source() else {
      return
    }
    let selection = try await download.select(StreamChoice(), of: source)
    estimated(selection.estimatedBytes)
    try await download.run(selection)
  }

  /// Ends all downloads for good; what they have fetched stays.
  func stop() async {
    let tasks = downloads.withLock { downloads in
      defer { downloads = nil }
      return (downloads ?? []).compactMap(\.task)
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }
}
