// SPDX-License-Identifier: MIT
import Foundation

/// The URL that an asset is made with, so that AVFoundation asks its delegate: the resource's own
/// under another scheme. Nothing else of it is changed, for signed URLs are signed as they are spelled.
enum CachedURL {
  /// A scheme of letters, digits, `+`, `-` and `.` (RFC 3986 §3.1), in lower case.
  private static let prefix = "refrain-"

  /// Nil where AVFoundation is to load the URL by itself: no http or https, or a playlist by its name.
  static func encoded(_ url: URL) -> URL? {
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
      !["m3u8", "m3u"].contains(url.pathExtension.lowercased())
    else { return nil }
    let text = url.absoluteString
    guard let colon = text.firstIndex(of: ":") else { return nil }
    return URL(string: prefix + scheme + text[colon...])
  }

  /// Whether they name the same resource, were one of them written anew (RFC 3986 §6.2.2.1, §6.2.3)
  /// or without its fragment, which no origin is told.
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
