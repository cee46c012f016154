// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainProxy

extension TestProxy {
  /// Serves a text as a manifest of an HLS stream, or of the given type.
  func serve(
    _ text: String, at path: String, type: String = "application/vnd.apple.mpegurl",
    etag: String? = "\"v1\"", headers: [Field] = []
  ) {
    origin.serve(
      OriginResource(.bytes(Array(text.utf8)), contentType: type, etag: etag, headers: headers),
      at: path)
  }

  /// The token in the proxy's URLs.
  var token: String { proxy.baseURL?.path().split(separator: "/").first.map(String.init) ?? "" }

  /// The host and port of the origin, as in the proxy's URLs.
  var originHost: String { "127.0.0.1:\(origin.port)" }
}
