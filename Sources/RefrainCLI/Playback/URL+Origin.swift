// SPDX-License-Identifier: MIT
import Foundation

extension URL {
  /// Whether scheme, host and port are equal (RFC 6454 §4).
  func isSameOrigin(as other: URL) -> Bool {
    func port(_ url: URL) -> Int? { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
    return scheme?.lowercased() == other.scheme?.lowercased()
      && host()?.lowercased() == other.host()?.lowercased() && port(self) == port(other)
  }
}
