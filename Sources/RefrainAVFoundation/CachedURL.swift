// SPDX-License-Identifier: MIT
import Foundation

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

  /// Returns whether both URLs name the same resource after normalization (RFC 3986 §6.2.2.1,
  /// §6.2.3), without the fragment, which is not sent to origins.
  static func isSame(_ one: URL, _ other: URL) -> Bool {
    one == other || normalized(one) == normalized(other)
  }

  private static func normalized(_ url: URL) -> String {
    let text = url.absoluteString.prefix { $0 != "#" }
    guard let authority = text.range(of: "://")?.upperBound else { return String(text) }
    let end = text[authority...].firstIndex { "/?".contains($0) } ?? text.endIndex
    let rest = text[end...]
    return text[..<end].lowercased() + (rest.hasPrefix("/") ? "" : "/") + rest
  }
}
