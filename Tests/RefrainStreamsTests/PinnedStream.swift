// SPDX-License-Identifier: MIT
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// A short stream with a key, and the steps that pin it.
enum PinnedStream {
  static let paths = ["/main.m3u8", "/list.m3u8", "/key", "/0.ts", "/1.ts"]

  static func serve(
    _ origin: OriginServer, _ control: String = "max-age=3600", hasTags: Bool = true
  ) {
    serve(
      """
      #EXTM3U
      #EXT-X-STREAM-INF:BANDWIDTH=8000000
      list.m3u8

      """, at: "/main.m3u8", origin, control, hasTag: hasTags)
    serve(
      """
      #EXTM3U
      #EXT-X-KEY:METHOD=AES-128,URI="key"
      #EXTINF:4,
      0.ts
      #EXTINF:4,
      1.ts
      #EXT-X-ENDLIST

      """, at: "/list.m3u8", origin, control, hasTag: hasTags)
    for path in paths.dropFirst(2) {
      serve(String(repeating: "k", count: 3000), at: path, origin, control, hasTag: hasTags)
    }
  }

  static func serve(
    _ text: String, at path: String, _ origin: OriginServer, _ control: String,
    hasTag: Bool = true
  ) {
    origin.serve(
      OriginResource(
        .bytes(Array(text.utf8)),
        contentType: path.hasSuffix("m3u8") ? "application/vnd.apple.mpegurl" : "video/mp2t",
        etag: hasTag ? "\"\(path)\"" : nil, headers: [Field("Cache-Control", control)]),
      at: path)
  }

  static func resource(_ test: TestCache, _ path: String = "/main.m3u8") -> Resource {
    Resource(url: test.origin.url(path))
  }

  static func pin(_ test: TestCache, first: String = "/main.m3u8") async throws {
    try await pin(test, resource(test, first))
  }

  static func pin(_ test: TestCache, _ resource: Resource) async throws {
    try await store(test, resource, isPinned: true)
  }

  static func store(_ test: TestCache, _ resource: Resource, isPinned: Bool) async throws {
    try await store(test, resource, StreamChoice(), isPinned: isPinned)
  }

  static func store(
    _ test: TestCache, _ resource: Resource, _ choice: StreamChoice, isPinned: Bool
  ) async throws {
    let download = StreamDownload(resource, into: test.cache, isPinned: isPinned)
    _ = try await download.bringFirst()
    let source = try #require(try await download.source())
    try await download.run(download.select(choice, of: source))
  }

  static func pinned(_ test: TestCache) async throws -> [String] {
    var pinned: [String] = []
    for path in paths {
      guard let entry = try await test.cache.entry(for: resource(test, path)) else { continue }
      if entry.isPinned, entry.isComplete { pinned.append(path) }
    }
    return pinned
  }
}
