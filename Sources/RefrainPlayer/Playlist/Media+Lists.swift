// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

/// Media that turned out to be a list while it played (`Player.Configuration.readList`).
extension Media {
  /// How deep a list in a list in a list is read.
  package static let listDepth = 8
  /// The items of a queue up to which lists are expanded: a list may name others without end.
  static let expandedLimit = 2 * Playlist.entryLimit

  /// Returns media that this one lists, as they take its place: they know where they came from.
  package func listing(_ media: [Media]) -> [Media] {
    let around = lists + [url]
    return media.map { entry in
      var entry = entry
      entry.lists = around
      return entry
    }
  }

  /// The error if this is an entry of itself, by way of any number of lists.
  var selfListing: MediaCacheError? {
    guard lists.contains(url) else { return nil }
    return MediaCacheError(
      .invalidResponse, "\(address) is a playlist that lists itself.",
      remedy: "Play its other entries by their own URLs.")
  }

  /// Returns why the media that this one lists cannot take its place; nil: they can.
  ///
  /// - Parameters:
  ///   - count: the number of the listed media.
  ///   - others: the number of other items in the queue.
  package func refusal(ofListing count: Int, beside others: Int) -> MediaCacheError? {
    guard lists.count < Self.listDepth else {
      return MediaCacheError(
        .invalidResponse,
        "\(address) is left out: playlists in playlists are read to a depth of "
          + "\(Self.listDepth).",
        remedy: "Play it by its own URL.")
    }
    guard count <= Self.expandedLimit - others else {
      return MediaCacheError(
        .invalidResponse,
        "\(address) is a playlist with \(count) entries: with them, the queue would exceed "
          + "\(Self.expandedLimit) items.",
        remedy: "Play it by its own URL.")
    }
    return nil
  }

  private var address: String {
    url.isFileURL ? url.path(percentEncoded: false) : url.withoutUserInfo.absoluteString
  }
}
