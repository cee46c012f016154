// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The URL of an asset that AVFoundation loads through a delegate: the resource's own with another
/// scheme. Nothing else of it changes, because signatures depend on the spelling of a URL.
enum CachedURL {
  /// Begins the scheme, which has letters, digits, `+`, `-` and `.` (RFC 3986 §3.1), in lower case.
  private static let prefix = "refrain-"

  /// Returns the asset's URL; nil if AVFoundation has to load the URL itself: neither http nor
  /// https, or a playlist by its extension.
  static func encoded(_ url: URL) -> URL? {
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
      !["m3u8", "m3u"].contains(url.pathExtension.lowercased())
    else { return nil }
    let text = url.absoluteString
    guard let colon = text.firstIndex(of: ":") else { return nil }
    return URL(string: prefix + scheme + text[colon...])
  }

  /// Whether both URLs name the same resource after normalization (RFC 3986 §6.2).
  static func isSame(_ one: URL, _ other: URL) -> Bool {
    one == other || CacheKey(url: decoded(one)) == CacheKey(url: decoded(other))
  }

  /// Returns the resource's own URL.
  private static func decoded(_ url: URL) -> URL {
    let text = url.absoluteString
    guard text.lowercased().hasPrefix(prefix) else { return url }
    return URL(string: String(text.dropFirst(prefix.count))) ?? url
  }
}
