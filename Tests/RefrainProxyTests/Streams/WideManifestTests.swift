// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Manifests in UTF-16 or UTF-32, in which no references are found.
@Suite(.timeLimit(.minutes(1))) struct WideManifestTests {
  private static let presentation =
    "<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n<!-- ü -->\n<MPD><BaseURL>/v/</BaseURL></MPD>"
  private static let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n/s0.ts\n"

  private func serve(
    _ body: [UInt8], at path: String, type: String, fields: [Field], on test: TestProxy
  ) {
    var resource = OriginResource(.bytes(body))
    resource.contentType = type
    resource.headers = fields
    test.origin.serve(resource, at: path)
  }

  static let encodings: [String.Encoding] = [
    .utf16, .utf16LittleEndian, .utf16BigEndian, .utf32, .utf32LittleEndian, .utf32BigEndian,
  ]

  @Test(arguments: encodings)
  func `A manifest in another encoding is refused, since it would lead past the proxy`(
    _ encoding: String.Encoding
  ) async throws {
    let stored = [Field]()
    let relayed = [Field("Cache-Control", "no-store")]
    for (text, type, path) in [
      (Self.presentation, "application/dash+xml", "/stream"),
      (Self.presentation, "application/octet-stream", "/stream.mpd"),
      (Self.presentation, "text/plain", "/stream"), (Self.presentation, "text/xml", "/stream"),
      (Self.playlist, "application/vnd.apple.mpegurl", "/list"),
      (Self.playlist, "text/plain", "/list.m3u8"),
    ] {
      for fields in [stored, relayed] {
        try await withProxy { test in
          let body = try #require(text.data(using: encoding))
          serve(Array(body), at: path, type: type, fields: fields, on: test)
          for _ in 0..<2 {
            let reply = try await test.get(path)
            #expect(reply.status == 502, "\(type) \(path) \(fields)")
            #expect(reply.text.contains("UTF-16"), "\(type) \(path) \(fields)")
          }
        }
      }
    }
  }

  @Test(arguments: ["video/mp4", "application/octet-stream", "application/dash+xml"])
  func `Other content with zeros is sent as it is`(_ type: String) async throws {
    let page = try #require("<html><p>MPD</p></html>".data(using: .utf16))
    for body in [Array(page), Array("\0\0\0<ftypisom".utf8), [0xFF, 0xFE], [0], [0x3C, 0, 0]] {
      try await withProxy { test in
        serve(body, at: "/media.mpd", type: type, fields: [], on: test)
        serve(body, at: "/media", type: type, fields: [], on: test)
        for path in ["/media.mpd", "/media"] {
          let reply = try await test.get(path)
          #expect(reply.status == 200 && Array(reply.body) == body, "\(body)")
        }
      }
    }
  }
}
