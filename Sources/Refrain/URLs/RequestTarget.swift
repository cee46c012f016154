// SPDX-License-Identifier: MIT
import Foundation

/// The target of a request to an origin (RFC 9112 §3.2.1): path and query of the URL as spelled. A
/// library that splits and rejoins a path may request another resource, which a DELETE would
/// remove.
enum RequestTarget {
  /// - Parameter isAbsolute: with scheme and host, as a proxy requires (§3.2.2).
  static func of(_ url: URL, isAbsolute: Bool = false) -> String {
    let plain = url.withoutUserInfo.absoluteString.prefix { $0 != "#" }
    guard let slashes = plain.firstRange(of: "://") else { return "/" }
    let target = plain[slashes.upperBound...].drop { $0 != "/" && $0 != "?" }
    // The path is never empty.
    let slash = target.hasPrefix("/") ? "" : "/"
    return (isAbsolute ? plain[..<target.startIndex] : "") + slash + target
  }
}
