// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainProxy

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
  var key: CacheKey?

  fileprivate var row: CacheKey {
    get throws(HTTPError) {
      guard let key else { throw HTTPError(400, "The change names no row.") }
      return key
    }
  }
}

final class Page: Sendable {
  let proxy: ProxyService
  let downloads: PageDownloads
  private let removal: Removal
  private let changeCount = Atomic(0)

  init(of proxy: ProxyService, _ removal: Removal) {
    (self.proxy, self.removal) = (proxy, removal)
    downloads = PageDownloads(cache: proxy.cache)
  }

  /// The number of changes that no event of the cache reports.
  var changes: Int { changeCount.load(ordering: .relaxed) }

  /// Returns one sentence for the person. Throws `HTTPError` or `MediaCacheError`, with the remedy.
  func perform(_ action: PageAction) async throws -> String {
    switch action.action {
    case .add:
      return try add(action.url, isPinned: action.pin ?? false)
    case .pause:
      try downloads.pause(action.row)
      return "Paused."
    case .cancel:
      guard try downloads.cancel(action.row) else { throw PageDownloads.unknown }
      return "Cancelled. The fetched bytes stay."
    case .pin:
      guard try await pin(action.row, proxy.cache.pin) else { throw Self.gone }
      return "Pinned. It is never evicted."
    case .unpin:
      _ = try await pin(action.row, proxy.cache.unpin)
      return "Unpinned. It can be evicted."
    case .remove:
      let key = try action.row
      downloads.cancel(key)
      var selection = PurgeSelection()
      selection.keys = try await keys(ofRow: key).union([key])
      guard try await removal.purge(selection).entries > 0 else { throw Self.gone }
      return "Removed."
    }
  }

  static let noURL = HTTPError(400, "This is not a URL. Enter an http or https URL.")
  private static let gone = HTTPError(404, "Nothing is stored under this key any more.")

  private func add(_ text: String?, isPinned: Bool) throws -> String {
    guard let text = text?.trimmingCharacters(in: .whitespacesAndNewlines),
      let url = URL(text: text)
    else { throw Self.noURL }
    // Hosts that clients may not request are refused here as well.
    try downloads.add(proxy.resource(for: url), isPinned: isPinned)
    return "Added to the downloads."
  }

  /// Returns whether anything has changed.
  private func pin(
    _ row: CacheKey, _ change: (CacheKey) async throws -> Bool
  ) async throws -> Bool {
    let keys = try await keys(ofRow: row)
    guard !keys.isEmpty else { throw Self.gone }
    defer { changeCount.add(1, ordering: .relaxed) }
    var isChanged = false
    for key in keys where try await change(key) { isChanged = true }
    return isChanged
  }

  private func keys(ofRow key: CacheKey) async throws -> Set<CacheKey> {
    Set(try await PageFeed(self).members[key, default: []].map(\.key))
  }
}
