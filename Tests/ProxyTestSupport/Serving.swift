// SPDX-License-Identifier: MIT
import Foundation
package import OriginServer
import RefrainProxy

/// Helpers for tests of caching: small resources whose origin states their freshness.
package enum Caching {
  package static let length: Int64 = 2000

  package static func bytes(_ seed: UInt64) -> [UInt8] {
    SyntheticBytes(seed: seed).bytes(in: 0..<length)
  }

  package static func resource(_ seed: UInt64, _ headers: [String: String]) -> OriginResource {
    var resource = OriginResource.synthetic(seed: seed, length: length)
    resource.headers = headers.map { Field($0.key, $0.value) }
    return resource
  }

  /// Returns fields that make a response stale on arrival.
  package static func stale(_ rest: String = "") -> [String: String] {
    ["Cache-Control": "max-age=60" + rest, "Age": "100"]
  }

  package static func withEither(
    isShared: Bool, _ body: (TestProxy) async throws -> Void
  ) async throws {
    if isShared { try await withReverseProxy(body) } else { try await withProxy(body) }
  }

  package static func withBoth(_ body: (TestProxy) async throws -> Void) async throws {
    for isShared in [false, true] { try await withEither(isShared: isShared, body) }
  }

  /// A short playlist whose references begin with a base.
  package static func playlist(_ base: String) -> String {
    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n\(base)/far/s0.ts\n#EXT-X-ENDLIST\n"
  }
}

extension TestProxy {
  package func serve(_ path: String, _ headers: [String: String]) { serve(path, 1, headers) }

  package func serve(_ path: String, _ seed: UInt64, _ headers: [String: String]) {
    origin.serve(Caching.resource(seed, headers), at: path)
  }

  /// Returns the number of requests that the origin received for a path.
  package func asked(_ path: String) async throws -> Int {
    try await settledLog(path).requests.count
  }

  /// Serves a text as a manifest of an HLS stream, or of the given type.
  package func serve(
    _ text: String, at path: String, type: String = "application/vnd.apple.mpegurl",
    etag: String? = "\"v1\"", headers: [Field] = []
  ) {
    origin.serve(
      OriginResource(.bytes(Array(text.utf8)), contentType: type, etag: etag, headers: headers),
      at: path)
  }

  /// The token in the proxy's URLs.
  package var token: String {
    proxy.baseURL?.path().split(separator: "/").first.map(String.init) ?? ""
  }

  /// The host and port of the origin, as in the proxy's URLs.
  package var originHost: String { "127.0.0.1:\(origin.port)" }

  /// What the proxy's references to its origin begin with.
  package var originPlace: String {
    proxy.configuration.origin == nil ? "/\(token)/http/\(originHost)" : ""
  }
}
