// SPDX-License-Identifier: MIT
import Refrain
import RefrainProxy

/// Lets only the page itself, and programs that a person starts, use the page.
///
/// The caller has checked the token or the listener, and that Host names this proxy, or the target in
/// absolute form, which browsers send to their proxy alone: a web page whose own name was made to point
/// here (DNS rebinding) does not come this far.
enum PageGuard {
  /// Other sites' pages cannot send this without a preflight (Fetch §3.2.2), which is refused.
  static let changeField = "X-Refrain-Page"
  static let longestBody = 64 << 10

  enum Kind: Sendable {
    /// The page as such, to which other sites may link.
    case document
    /// Anything that the page loads.
    case resource
    case change
  }

  static func check(
    _ method: String, _ fields: HeaderFields, for kind: Kind
  ) throws(HTTPError) {
    guard let host = fields["Host"] else {
      throw HTTPError(400, "A request for the page needs a Host field.")
    }
    switch kind {
    case .document, .resource:
      guard method == "GET" || method == "HEAD" else {
        throw HTTPError(405, "The page is read with GET.", allow: "GET, HEAD")
      }
    case .change:
      guard method == "POST" else {
        throw HTTPError(405, "The page is changed with POST.", allow: "POST")
      }
    }
    for origin in fields.values(of: "Origin") where !isOwn(origin.trimmingOWS[...], host: host) {
      throw foreign
    }
    if let site = fields["Sec-Fetch-Site"]?.trimmingOWS.lowercased(), site != "same-origin",
      site != "none"
    {
      let isLink =
        kind == .document && fields["Sec-Fetch-Mode"]?.trimmingOWS.lowercased() == "navigate"
        && fields["Sec-Fetch-Dest"]?.trimmingOWS.lowercased() == "document"
      guard isLink else { throw foreign }
    }
    guard kind == .change else { return }
    guard fields[changeField]?.trimmingOWS == "1" else {
      throw HTTPError(403, "A change needs the field '\(changeField): 1'.")
    }
    let type = fields["Content-Type"]?.prefix { $0 != ";" }.trimmingOWS.lowercased()
    guard type == "application/json" else {
      throw HTTPError(415, "A change needs a body of the type application/json.")
    }
  }

  private static let foreign = HTTPError(403, "Pages of other sites may not use this page.")

  /// The scheme may be that of a TLS terminator.
  private static func isOwn(_ origin: Substring, host: String) -> Bool {
    guard let slashes = origin.firstRange(of: "://"),
      ["http", "https"].contains(origin[..<slashes.lowerBound].lowercased())
    else { return false }
    return origin[slashes.upperBound...].lowercased() == host.trimmingOWS.lowercased()
  }

  /// - Parameter media: the source of the media besides the page's own.
  static func protect(_ fields: inout HeaderFields, media: String?) {
    let mediaSource = media.map { "; media-src 'self' \($0)" } ?? ""
    fields.append(
      "Content-Security-Policy",
      "default-src 'self'\(mediaSource); object-src 'none'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        + "trusted-types 'none'")
    fields.append("Referrer-Policy", "no-referrer")
    fields.append("X-Frame-Options", "DENY")
    fields.append("Cross-Origin-Resource-Policy", "same-origin")
    fields.append("Cross-Origin-Opener-Policy", "same-origin")
  }
}
