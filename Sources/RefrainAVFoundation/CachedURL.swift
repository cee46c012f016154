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
}
