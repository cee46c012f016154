// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import RefrainProxy

/// Manifests that origins compress although the proxy asks for identity.
@Suite(.timeLimit(.minutes(1))) struct CompressedManifestTests {
  private static let path = "/a/list.m3u8"
  private static let fresh = [Field("Cache-Control", "max-age=600")]

  /// Absolute URLs would lead clients past the proxy.
  private func list(_ base: String) -> String {
    """
    #EXTM3U
    #EXT-X-TARGETDURATION:2
    #EXT-X-KEY:METHOD=AES-128,URI="\(base)/keys/1"
    #EXTINF:2,
    \(base)/far/s0.ts?a=b
    #EXTINF:2,
    s1.ts
    #EXT-X-ENDLIST

    """
  }

  private func serveCompressed(_ list: String, _ coding: String, _ test: TestProxy) {
    if coding == "gzip" {
      test.serve(list, at: Self.path, headers: Self.fresh)
      test.origin.script(Self.path, .on(.all, .gzip))
    } else {
      let resource = OriginResource(
        .bytes(Self.zlib(Array(list.utf8))), contentType: "application/vnd.apple.mpegurl",
        etag: "\"v1\"", headers: Self.fresh + [Field("Content-Encoding", coding)])
      test.origin.serve(resource, at: Self.path)
    }
  }

  /// Returns the zlib form of fewer than 64 KiB, which are not compressed: one stored block
  /// (RFC 1950 §2.2, RFC 1951 §3.2.4). The coding `deflate` is this form (RFC 9110 §8.4.1.2).
  private static func zlib(_ bytes: [UInt8]) -> [UInt8] {
    let size = UInt16(bytes.count)
    let (low, high) = (UInt8(size & 0xFF), UInt8(size >> 8))
    var (a, b) = (UInt32(1), UInt32(0))
    for byte in bytes {
      a = (a + UInt32(byte)) % 65_521
      b = (b + a) % 65_521
    }
    let checksum = b << 16 | a
    let trailer = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: checksum >> UInt32($0)) }
    let header: [UInt8] = [0x78, 0x01, 1, low, high, ~low, ~high]
    return header + bytes + trailer
  }

  @Test(arguments: ["gzip", "deflate"])
  func `A compressed list with absolute URLs is decoded and rewritten`(
    _ coding: String
  ) async throws {
    try await withProxy { test in
      let original = list(test.origin.baseURL.absoluteString)
      serveCompressed(original, coding, test)
      let expected = list("/\(test.token)/http/\(test.originHost)")
      for state in ["cold", "stored", "without the origin"] {
        if state == "without the origin" { await test.origin.stopListening() }
        let reply = try await test.get(Self.path, ["Accept-Encoding: gzip, deflate"])
        #expect(reply.status == 200 && reply.text == expected, "\(state)")
        #expect(reply["Content-Encoding"] == nil, "\(state)")
        #expect(reply["Content-Length"] == String(expected.utf8.count), "\(state)")
      }
      let requests = test.origin.log(Self.path).requests.map(\.request)
      #expect(requests.count == 1)
      #expect(requests.first?.headers.first("Accept-Encoding") == "identity")
      try await test.origin.resumeListening()
    }
  }

  @Test(arguments: ["damaged", "plain"])
  func `A compressed manifest that cannot be decoded costs one request`(
    _ kind: String
  ) async throws {
    try await withProxy { test in
      var body = Array(list("").utf8)
      if kind == "damaged" {
        body = Self.zlib(body)
        body[20] ^= 0x10
      }
      test.origin.serve(
        OriginResource(
          .bytes(body), contentType: "application/vnd.apple.mpegurl", etag: "\"v1\"",
          headers: Self.fresh + [Field("Content-Encoding", "deflate")]), at: Self.path)
      let reply = try await test.get(Self.path)
      #expect(reply.status == 502 && reply.text.contains("is damaged"))
      #expect(test.origin.log(Self.path).requests.count == 1)
    }
  }
}
