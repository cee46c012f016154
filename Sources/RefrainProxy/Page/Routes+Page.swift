// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The page's place among the targets of requests.
///
/// No proxied URL begins so: a scheme, or `~` and a session, follows the token.
extension Routes {
  /// Returns what follows the token in a request for the page; nil for any other request, also one
  /// with a wrong token. The first check is that the request is meant for this proxy.
  func pageTarget(
    of head: RequestHead, localAddress: String?, listening: ListeningAddress?
  ) throws(HTTPError) -> String? {
    guard let token else { return nil }
    let whole = head.target
    guard mayBeOurs(target: PageTarget.path(ofAbsolute: whole) ?? whole) else { return nil }
    let target = try ownTarget(
      of: head, target: whole, localAddress: localAddress, listening: listening)
    let rest = String(target.dropFirst(1 + token.utf8.count))
    return PageTarget.isOfPage(rest) ? rest : nil
  }
}

/// The targets of the page, behind the token or on a listener of its own. Pure.
enum PageTarget {
  /// Whether a target is the page's: `/`, or below `/page/`.
  static func isOfPage(_ target: String) -> Bool {
    let path = target.prefix { $0 != "?" }
    return path.isEmpty || path == "/" || path.hasPrefix("/page/")
  }

  static func path(ofAbsolute target: String) -> String? {
    ProxyURL.splitAbsolute(target)?.target
  }

  /// Returns the decoded value of a query's parameter; nil if there is none, or it is not UTF-8.
  static func parameter(_ name: String, in target: String) -> String? {
    guard let mark = target.firstIndex(of: "?") else { return nil }
    for pair in target[target.index(after: mark)...].split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, parts[0] == name { return String(parts[1]).removingPercentEncoding }
    }
    return nil
  }
}
