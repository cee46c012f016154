// SPDX-License-Identifier: MIT
import Foundation

/// Parses Content-Type (RFC 9110 §8.3.1).
enum MediaType {
  /// Returns `type/subtype` without parameters, lower case: `audio/flac`. Nil if the value is
  /// malformed.
  static func essence(_ contentType: String?) -> String? {
    guard let contentType else { return nil }
    let whole = contentType.prefix { $0 != ";" }.trimmingOWS
    // Each part has 127 characters at most (RFC 6838 §4.2).
    guard whole.utf8.count <= 255 else { return nil }
    let parts = whole.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy(\.isToken) else { return nil }
    return whole.lowercased()
  }

  /// Whether a response of this type is a web page.
  static func isPage(_ mimeType: String?) -> Bool {
    mimeType == "text/html" || mimeType == "application/xhtml+xml"
  }

  /// Whether a resource is known to be no web page, by its stored type, or else by its URL. A
  /// network with a sign-in page responds to every request with that page.
  static func isKnownNoPage(_ mimeType: String?, url: URL) -> Bool {
    let ending = url.pathExtension.lowercased()
    if ["html", "htm", "xhtml"].contains(ending) || isPage(mimeType) { return false }
    return mimeType != nil || isMediaExtension(ending)
  }
}
