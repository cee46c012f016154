// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// The URLs that the operator of a proxy names.
extension Routes {
  /// Returns the origin's URL for a target or a URL: with an origin, also for a URL under one of the
  /// proxy's own names, as clients write it.
  ///
  /// - Throws: 400 for text that names nothing which this proxy serves.
  func url(named text: String) throws(HTTPError) -> URL {
    if text.hasPrefix("/") { return try url(of: text) }
    guard let url = URL(text: text), let parts = WebURL(url.absoluteString) else {
      throw HTTPError(400, "\(text.prefix(200)) is not an http or https URL.")
    }
    guard let origin, target(for: url) == nil else { return url }
    guard isPublic(authority: parts.authority) else {
      throw HTTPError(
        400,
        "\(text.prefix(200)) is not of this proxy's origin. Use a URL that begins with \(origin), "
          + "or the path alone.")
    }
    return try self.url(of: parts.requestTarget)
  }

  /// Returns the URL that clients request with a target; without an origin, the target is the one
  /// without the token.
  private func url(of target: String) throws(HTTPError) -> URL {
    if let originURL { return try ProxyURL.parse(target: target, origin: originURL) }
    guard let token else { throw HTTPError(400, "The path names no resource.") }
    do throws(HTTPError) {
      return try ProxyURL.parse(target: "/\(token)\(target)", token: token).url
    } catch {
      throw HTTPError(error.status, "The path names no resource. Use /https/example.com/path.")
    }
  }

  /// Checks the `Host` of a request for something of the proxy itself.
  ///
  /// - Throws: 421 if the request is for another name: that of a web page, pointed here.
  func checkHost(of request: ClientRequest, listening address: ListeningAddress?) throws(HTTPError)
  {
    guard let host = request.head.fields["Host"] else { return }
    guard isOurs(host: host, localAddress: request.localAddress, listening: address) else {
      throw HTTPError(421, "This is not \(host). Use the address or a name of the proxy.")
    }
  }
}
