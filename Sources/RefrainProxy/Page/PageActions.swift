// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// A change that the page asks for.
struct PageAction: Sendable, Decodable {
  enum Name: String, Sendable, Decodable {
    /// Fetches `url` into the cache, and pins it if `pin` says so. A paused download goes on.
    case add
    /// Changes the download of the row `key`.
    case pause, cancel
    /// Changes the row `key`.
    case pin, unpin, remove
  }

  var action: Name
  var url: String?
  var pin: Bool?
  var key: String?
}

/// Performs the changes of the page.
struct PageActions: Sendable {
  let service: ProxyService
  let page: Page

  /// - Returns: one sentence for the person.
  /// - Throws: `HTTPError` or `MediaCacheError`, with the remedy.
  func perform(_ action: PageAction) async throws -> String {
    if action.action == .add { return try add(action.url, isPinned: action.pin ?? false) }
    guard let text = action.key else { throw HTTPError(400, "The change names no row.") }
    let key = CacheKey(rawValue: text)
    switch action.action {
    case .pause:
      let isKnown = page.downloads.items[key] != nil
      guard page.downloads.pause(key) else {
        throw isKnown ? HTTPError(409, "Only a running download pauses.") : Self.noDownload
      }
      return "Paused."
    case .cancel:
      guard page.downloads.cancel(key) else { throw Self.noDownload }
      return "Cancelled. The fetched bytes stay."
    case .pin, .unpin: return try await pin(key, isPinned: action.action == .pin)
    case .add, .remove: return try await remove(key)
    }
  }

  private static let noURL = HTTPError(400, "This is not a URL. Enter an http or https URL.")
  private static let noDownload = HTTPError(404, "This is not being fetched any more.")
  private static let gone = HTTPError(404, "Nothing is stored under this key any more.")

  private func add(_ text: String?, isPinned: Bool) throws -> String {
    guard let text = text?.trimmingCharacters(in: .whitespacesAndNewlines),
      let url = URL(text: text)
    else { throw Self.noURL }
    // The same URLs as for clients: hosts that are not allowed are refused here as well.
    _ = try service.routes.proxied(url, listening: service.knownAddress)
    guard let host = url.host(), WebURL(url.absoluteString) != nil else { throw Self.noURL }
    if let filter = service.routes.filter, !filter.allows(url) {
      throw HTTPError(403, "Requests to \(host) are not allowed.")
    }
    // A user and a password would be shown.
    guard page.downloads.add(url.withoutUserInfo, isPinned: isPinned) else {
      throw HTTPError(409, "Too many downloads have not ended. Cancel some of them first.")
    }
    return "Added to the downloads."
  }

  private func pin(_ key: CacheKey, isPinned: Bool) async throws -> String {
    try await page.visit { feed in
      let keys = feed.keys(ofRow: key)
      guard !keys.isEmpty else { throw Self.gone }
      defer { feed.look(at: keys) }
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
  }

  private func remove(_ key: CacheKey) async throws -> String {
    try await page.visit { feed in
      page.downloads.cancel(key)
      let keys = feed.keys(ofRow: key)
      guard !keys.isEmpty else { throw Self.gone }
      defer { feed.look(at: keys) }
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
}
