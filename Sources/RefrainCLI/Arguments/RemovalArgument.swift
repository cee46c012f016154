// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// An argument of `rm`: a URL, or the path of a resource of a running proxy.
enum RemovalArgument: Sendable, Hashable {
  case url(URL)
  /// A path with its query, as clients of the proxy request it.
  case path(String)

  /// Reads a path if the text begins with a slash, else an http or https URL. Percent-encoding is
  /// unchanged, and characters that a URL cannot contain are encoded once.
  static func parse(_ text: String) throws -> RemovalArgument {
    guard text.utf8.first == UInt8(ascii: "/") else { return .url(try URLArgument.parse(text)) }
    // A path is spelled as in a URL, whatever the host.
    guard let url = URL(text: "http://localhost" + text), let parts = WebURL(url.absoluteString)
    else { throw InvalidArgument("the path is not valid") }
    return .path(parts.requestTarget)
  }

  /// The URL; nil for a path.
  var url: URL? {
    switch self {
    case .url(let url): url
    case .path: nil
    }
  }

  /// The text for a running proxy, which knows no credentials of URLs.
  var text: String {
    switch self {
    case .url(let url): url.withoutUserInfo.absoluteString
    case .path(let path): path
    }
  }
}
