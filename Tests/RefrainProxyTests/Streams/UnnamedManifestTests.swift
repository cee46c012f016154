// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy

/// Manifests that neither their type nor their URL names, and other content of such types.
@Suite(.timeLimit(.minutes(1))) struct UnnamedManifestTests {
  static let types: [String?] = [
    nil, "application/octet-stream", "binary/octet-stream", "text/plain; charset=utf-8",
  ]

  private static let list =
    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n/s0.ts\n#EXT-X-ENDLIST\n"

  /// - Parameter type: nil: the origin sends none.
  private func serve(
    _ text: String, at path: String, type: String? = "application/octet-stream", on test: TestProxy,
    headers: [Field] = []
  ) {
    test.serve(text, at: path, type: type ?? "", headers: headers)
    if type == nil { test.origin.script(path, .on(.all, .header("Content-Type", nil))) }
  }

  @Test(
    arguments: types + ["text/html; charset=utf-8", "application/json", "application/xml"])
  func `Segments of a playlist that its content shows come through the proxy, once`(
    _ type: String?
  ) async throws {
    try await withProxy { test in
      let absolute = Self.list.replacing("/s0.ts", with: test.origin.url("/s0.ts").absoluteString)
      serve(absolute, at: "/list.bin", type: type, on: test)
      var segment = OriginResource.synthetic(seed: 1, length: 1000)
      segment.headers = [Field("Cache-Control", "max-age=0")]
      test.origin.serve(segment, at: "/s0.ts")
      let target = try test.target("/s0.ts")
      for _ in 0..<2 {
        let reply = try await test.get("/list.bin")
        #expect(reply.text.split(separator: "\n").contains(Substring(target)))
        #expect(reply["Content-Length"] == String(reply.body.count))
        #expect(reply["Accept-Ranges"] == nil)
        let part = try await test.get("/s0.ts")
        #expect(part.body == SyntheticBytes(seed: 1).bytes(in: 0..<1000))
      }
      #expect(test.origin.log("/s0.ts").requests.count == 1)
    }
  }

  @Test(arguments: ["bytes=0-", "bytes=0-1", "bytes=0-99999"])
  func `A request for a range from the start brings the whole rewritten playlist`(
    _ range: String
  ) async throws {
    try await withProxy { test in
      serve(Self.list, at: "/list.bin", on: test)
      let cold = try await test.get("/list.bin", ["Range: \(range)"])
      let warm = try await test.get("/list.bin", ["Range: \(range)"])
      let whole = try await test.get("/list.bin")
      #expect(whole.text.contains("/\(test.token)/http/"))
      for reply in [cold, warm] {
        #expect(reply.status == 200 && reply.body == whole.body)
        #expect(reply["Content-Range"] == nil && reply["ETag"] == nil)
      }
    }
  }

  @Test func `Another range is that of the original until the beginning is known`() async throws {
    try await withProxy { test in
      serve(Self.list, at: "/list.bin", on: test)
      let early = try await test.get("/list.bin", ["Range: bytes=40-"])
      #expect(early.status == 206 && early.text == String(Self.list.dropFirst(40)))
      let whole = try await test.get("/list.bin")
      #expect(whole.text.contains("/\(test.token)/http/"))
      for range in ["bytes=40-", "bytes=-5", "bytes=0-1,50-51"] {
        let late = try await test.get("/list.bin", ["Range: \(range)"])
        #expect(late.status == 200 && late.body == whole.body, "\(range)")
      }
    }
  }

  @Test func `A playlist is recognized without a length, and in pieces`() async throws {
    try await withProxy { test in
      for (path, type) in [("/open", "application/octet-stream"), ("/typed", "audio/mpegurl")] {
        test.origin.serve(
          OriginResource(
            .bytes(Array(Self.list.utf8)), contentType: type, supportsRanges: false,
            declaresLength: false),
          at: path)
      }
      serve(Self.list, at: "/slow", on: test)
      test.origin.script("/slow", .on(.all, .stall(at: .body(4), for: .milliseconds(20))))
      for path in ["/open", "/typed", "/slow"] {
        let reply = try await test.get(path)
        #expect(reply.text.contains("/\(test.token)/http/") && reply.isComplete, "\(path)")
        #expect(reply["Content-Length"] == String(reply.body.count), "\(path)")
      }
    }
  }

  @Test(arguments: [
    [], ["Cache-Control: no-store"], ["Cache-Control: no-store", "Range: bytes=0-"],
  ])
  func `A playlist that may not be stored, or is relayed, is rewritten`(
    _ fields: [String]
  ) async throws {
    try await withProxy { test in
      let headers = [
        Field("Cache-Control", "no-store"), Field("Last-Modified", HTTPDate.format(Date() - 3600)),
      ]
      serve(Self.list, at: "/list.bin", on: test, headers: headers)
      test.serve(Self.list, at: "/typed", headers: headers)
      for path in ["/list.bin", "/typed"] {
        let reply = try await test.get(path, fields)
        #expect(reply.status == 200 && reply.text.contains("/\(test.token)/http/"), "\(path)")
        #expect(reply["Content-Range"] == nil && reply.isComplete, "\(path)")
      }
      let head = try await test.get("/typed", fields, method: "HEAD")
      #expect([200, 206].contains(head.status))
      #expect(head["ETag"] == nil && head["Last-Modified"] == nil)
    }
  }

  @Test func `A DASH manifest is recognized by its root`() async throws {
    try await withProxy { test in
      let text = "<?xml version=\"1.0\"?>\n<!-- x --><MPD><BaseURL>/v/</BaseURL></MPD>"
      serve(text, at: "/stream", type: "text/plain", on: test)
      let reply = try await test.get("/stream")
      let place = "/\(test.token)/http/\(test.originHost)"
      #expect(reply.text == text.replacing("/v/</", with: "\(place)/v/</"))
    }
  }

  // MARK: Other content

  @Test(arguments: types)
  func `Media of such a type passes byte for byte, with ranges`(_ type: String?) async throws {
    try await withProxy { test in
      let bytes = [0x47] + SyntheticBytes(seed: 3).bytes(in: 1..<300_000)
      var resource = OriginResource(.bytes(bytes), contentType: type ?? "", etag: "\"m\"")
      resource.headers = [Field("Cache-Control", "max-age=600")]
      for path in ["/a", "/b", "/c"] {
        test.origin.serve(resource, at: path)
        if type == nil { test.origin.script(path, .on(.all, .header("Content-Type", nil))) }
      }
      for fields in [[], ["Cache-Control: no-store"]] {
        let ranges = [
          ("bytes=0-", 0..<300_000), ("bytes=0-1", 0..<2), ("bytes=1000-1999", 1000..<2000),
          ("bytes=-10", 299_990..<300_000),
        ]
        for (range, expected) in ranges {
          let reply = try await test.get("/a", fields + ["Range: \(range)"])
          #expect(reply.status == 206 && reply.body == Array(bytes[expected]), "\(range)")
        }
        let whole = try await test.get("/b", fields)
        #expect(whole.status == 200 && whole.body == bytes && whole["ETag"] == "\"m\"")
        let head = try await test.get("/b", fields, method: "HEAD")
        #expect(head["Content-Length"] == "300000" && head["ETag"] == "\"m\"")
      }
      // Nothing is requested but what the client needs.
      let part = try await test.get("/c", ["Range: bytes=299000-"])
      #expect(part.body == Array(bytes[299_000...]))
      let requests = test.origin.log("/c").requests
      let first = requests.first?.request.headers.first("Range")
      #expect(requests.count == 1 && first?.hasPrefix("bytes=299000-") == true)
    }
  }

  @Test(arguments: [
    "#EXTM3U\n#EXTINF:200,Song\n/song.mp3\n", "#EXTM3U", "# no playlist\n/song.mp3\n",
    "<html><a href=\"/song.mp3\"></a></html>",
  ])
  func `A list of songs, and any other text, stays as it is`(_ text: String) async throws {
    try await withProxy { test in
      serve(text, at: "/a", type: "text/plain", on: test)
      for fields in [[], [], ["Cache-Control: no-store"]] {
        let reply = try await test.get("/a", fields)
        #expect(reply.text == text && reply["ETag"] == "\"v1\"" && reply.isComplete)
        let range = try await test.get("/a", fields + ["Range: bytes=2-4"])
        #expect(range.status == 206 && range.text == String(text.dropFirst(2).prefix(3)))
      }
    }
  }

  @Test func `Content that becomes a playlist is rewritten from then on`() async throws {
    try await withProxy { test in
      let stale = [Field("Cache-Control", "max-age=0")]
      test.serve("not yet\n", at: "/a", type: "text/plain", etag: "\"v0\"", headers: stale)
      for _ in 0..<2 {
        let reply = try await test.get("/a")
        #expect(reply.text == "not yet\n")
      }
      serve(Self.list, at: "/a", on: test, headers: [Field("Cache-Control", "max-age=600")])
      for _ in 0..<3 {
        do {
          let reply = try await test.get("/a")
          #expect(reply.text.contains("/\(test.token)/http/"))
        }
      }
    }
  }
}
