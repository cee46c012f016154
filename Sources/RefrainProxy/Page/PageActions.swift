// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A change that the page asks for.
struct PageAction: Sendable, Decodable {
  enum Name: String, Sendable, Decodable {
    /// Fetches `url` into the cache.
    case add
    /// Changes the download `id`.
    case pause, resume, cancel
    /// Pins the download `id`: at its start, or once more after its end.
    case pinDownload
    /// Moves the download `id` by some places.
    case move
    /// Changes the row `key`.
    case pin, unpin, remove
  }

  var action: Name
  var url: String?
  var pin: Bool?
  var id: UInt64?
  var places: Int?
  var key: String?
}

/// Performs the changes of the page.
struct PageActions: Sendable {
  let service: ProxyService
  let page: Page

  /// - Returns: one sentence for the person.
  /// - Throws: `HTTPError` or `MediaCacheError`, with the remedy.
  func perform(_ action: PageAction) async throws -> String {
    switch action.action {
    case .add: return try add(action)
    case .pause:
      return try change(action, "Paused.", else: "Only a waiting or running download pauses.") {
        $0.pause($1)
      }
    case .resume:
      return try change(action, "Goes on.", else: "Only a paused or failed download goes on.") {
        $0.resume($1)
      }
    case .cancel:
      return try change(action, "Removed from the queue. The fetched bytes stay.") {
        $0.remove($1)
      }
    case .pinDownload:
      return try change(action, "Pinned with the download.") { $0.pin($1) }
    case .move:
      let places = action.places ?? 0
      return try change(action, "Moved.") { $0.move($1, by: places) }
    case .pin, .unpin: return try await pin(action, isPinned: action.action == .pin)
    case .remove: return try await remove(action)
    }
  }

  // MARK: Downloads

  /// The queue is stored already, and another process may have taken it over.
  private func checkThatQueueIsHere() throws {
    guard service.isDraining else { return }
    throw HTTPError(503, "This proxy is about to end. Reload the page, and try again.")
  }

  private func add(_ action: PageAction) throws -> String {
    try checkThatQueueIsHere()
    guard let text = action.url?.trimmingCharacters(in: .whitespacesAndNewlines),
      let url = URL(text: text)
    else {
      throw HTTPError(400, "This is not a URL. Enter an http or https URL.")
    }
    // The same URLs as for clients: hosts that are not allowed are refused here as well.
    _ = try service.routes.proxied(url, listening: service.knownAddress)
    guard let host = url.host(), WebURL(url.absoluteString) != nil else {
      throw HTTPError(400, "This is not a URL. Enter an http or https URL.")
    }
    if let filter = service.routes.filter, !filter.allows(url) {
      throw HTTPError(403, "Requests to \(host) are not allowed.")
    }
    // A user and a password would be shown.
    let plain = url.withoutUserInfo.absoluteString
    let isPinned = action.pin ?? false
    guard page.downloads.change({ $0.add(plain, isPinned: isPinned) }) != nil else {
      throw HTTPError(409, "The queue is full. Remove downloads from it first.")
    }
    return "Added to the downloads."
  }

  private func change(
    _ action: PageAction, _ message: String, else refusal: String = "",
    _ body: (inout DownloadQueue, UInt64) -> Bool
  ) throws -> String {
    try checkThatQueueIsHere()
    guard let id = action.id else { throw HTTPError(400, "The change names no download.") }
    let (isThere, isDone) = page.downloads.change { queue in
      (queue[id] != nil, body(&queue, id))
    }
    guard isThere else { throw HTTPError(404, "This download is not in the queue any more.") }
    guard isDone else { throw HTTPError(409, refusal) }
    return message
  }

  // MARK: Rows

  /// - Returns: the keys of the row's entries.
  private func keys(_ action: PageAction) async throws -> (row: CacheKey, all: [CacheKey]) {
    guard let text = action.key else { throw HTTPError(400, "The change names no row.") }
    let key = CacheKey(rawValue: text)
    let shown = page.feed.keys(ofRow: key)
    if !shown.isEmpty { return (key, shown) }
    // Nobody is looking at the page, or it is a moment behind.
    var model = PageModel()
    model.apply(try await service.cache.entries().map { PageEntry($0) })
    let stored = model.keys(ofRow: key)
    guard !stored.isEmpty else { throw Self.gone }
    return (key, stored)
  }

  private static let gone = HTTPError(404, "Nothing is stored under this key any more.")

  private func pin(_ action: PageAction, isPinned: Bool) async throws -> String {
    let (_, keys) = try await keys(action)
    defer { page.feed.look(at: keys) }
    var count = 0
    for key in keys {
      let isChanged =
        isPinned ? try await service.cache.pin(key) : try await service.cache.unpin(key)
      if isChanged { count += 1 }
    }
    guard isPinned else { return "Unpinned. It can be evicted." }
    guard count > 0 else { throw Self.gone }
    return "Pinned. It is never evicted."
  }

  private func remove(_ action: PageAction) async throws -> String {
    let (key, keys) = try await keys(action)
    defer { page.feed.look(at: keys) }
    var selection = PurgeSelection()
    selection.keys = Set(keys).union([key])
    var isRemoved = try await service.purge(selection).entries > 0
    // Parts that were stored since the page looked last.
    if keys.count > 1, try await service.cache.remove(stream: key) != nil {
      isRemoved = true
      // Those held for fast responses would be served on.
      service.hits.releaseAll()
    }
    guard isRemoved else { throw Self.gone }
    return "Removed."
  }
}
