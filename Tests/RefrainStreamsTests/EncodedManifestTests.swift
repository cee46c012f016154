// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Origins that compress manifests although every request asks for identity.
@Suite(.timeLimit(.minutes(1))) struct EncodedManifestTests {
  private let plain = EncodedPlaylists.plain

  private func read(_ test: TestCache, _ path: String) async throws -> [UInt8] {
    let reader = try await test.reader(path)
    defer { reader.cancel() }
    return Array(try await reader.bytes(in: 0..<10_000_000))
  }

  @Test(arguments: EncodedPlaylists.all.indices, [true, false])
  func `A compressed manifest is stored decoded`(index: Int, supportsRanges: Bool) async throws {
    let (coding, body) = EncodedPlaylists.all[index]
    try await withCache { test async throws in
      test.origin.serve(
        EncodedPlaylists.resource(body, coding: coding, supportsRanges: supportsRanges),
        at: "/a.m3u8")
      #expect(try await test.read("/a.m3u8", 10..<20) == Array(plain[10..<20]))
      #expect(try await read(test, "/a.m3u8") == plain)
      let reader = try await test.reader("/a.m3u8")
      defer { reader.cancel() }
      let known = try await reader.settle()
      #expect(known.information.length == Int64(plain.count))
      #expect(!known.information.supportsRanges && known.validator.etag == "\"1\"")
      #expect(known.information.mimeType == "application/vnd.apple.mpegurl")
      for name in ["Content-Encoding", "Repr-Digest"] { #expect(known.headers[name] == nil) }
      let requests = try await test.settledLog("/a.m3u8").requests
      #expect(requests.count == 1)
      #expect(requests.first?.request.headers.first("Accept-Encoding") == "identity")
      #expect(requests.first?.request.range == nil)
      let entry = try #require(try await test.cache.entries().first)
      #expect(entry.isComplete && entry.length == Int64(plain.count))
      #expect(Array(try Data(contentsOf: entry.file)) == plain)
    }
  }

  @Test func `A compressed manifest is read offline`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    origin.serve(EncodedPlaylists.resource(EncodedPlaylists.gzip, coding: "gzip"), at: "/a.m3u8")
    try await withCache(directory: directory, origin: origin) { test async throws in
      #expect(try await read(test, "/a.m3u8") == plain)
    }
    origin.resetLog("/a.m3u8")
    try await withCache(directory: directory, origin: origin, { $0.offline = true }) {
      test async throws in
      #expect(try await read(test, "/a.m3u8") == plain)
    }
    #expect(origin.log("/a.m3u8").requests.isEmpty)
    await origin.stop()
  }

  @Test func `A range of a compressed manifest is followed by one request for all`() async throws {
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      // Only the response shows that this is a manifest.
      test.origin.serve(
        EncodedPlaylists.resource(EncodedPlaylists.gzip, coding: "gzip", control: "max-age=1"),
        at: "/a")
      #expect(try await read(test, "/a") == plain)
      let first = try await test.settledLog("/a").requests
      #expect(first.map { $0.request.range != nil } == [true, false])
      time.pass(100)
      let newer = EncodedPlaylists.resource(
        EncodedPlaylists.zlib, coding: "deflate", etag: "\"2\"")
      test.origin.serve(newer, at: "/a")
      #expect(try await read(test, "/a") == plain)
      let later = try await test.settledLog("/a").requests.dropFirst(2)
      #expect(later.map(\.request.range) == [nil])
      #expect(later.first?.request.headers.first("If-None-Match") == "\"1\"")
    }
  }

  @Test func `Each reload of a compressed live playlist is one request`() async throws {
    func playlist(_ number: Int) -> [UInt8] {
      Array("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:\(number)\n".utf8)
    }
    let time = TestClock()
    try await withCache({ $0.clock = time.now }) { test async throws in
      // Its Date does not follow the moved clock.
      test.origin.script("/live.m3u8", .on(.all, .gzip, .header("Date", nil)))
      for number in 0..<4 {
        let resource = OriginResource(
          .bytes(playlist(number)), contentType: "application/vnd.apple.mpegurl",
          etag: "\"\(number)\"")
        test.origin.serve(resource, at: "/live.m3u8")
        #expect(try await read(test, "/live.m3u8") == playlist(number))
        time.pass(1.1)
        // Unchanged: 304.
        #expect(try await read(test, "/live.m3u8") == playlist(number))
        time.pass(1.1)
      }
      let requests = try await test.settledLog("/live.m3u8").requests
      #expect(requests.count == 8)
      #expect(requests.allSatisfy { $0.request.range == nil })
    }
  }

  @Test(arguments: [
    [Fault.drop(at: .body(60))], [.truncatedBody(to: 60)], [.truncatedBody(to: 60), .toTheClose],
    [.truncatedBody(to: 60), .chunked], [.truncatedBody(to: 0)],
  ])
  func `A manifest that ends too early is requested again`(faults: [Fault]) async throws {
    try await withCache { test async throws in
      test.origin.serve(
        EncodedPlaylists.resource(EncodedPlaylists.gzip, coding: "gzip"), at: "/a.mpd")
      test.origin.script("/a.mpd", FaultScript([.init(.number(1), faults)]))
      #expect(try await read(test, "/a.mpd") == plain)
      #expect(try await test.settledLog("/a.mpd").requests.count == 2)
    }
  }

  @Test(arguments: ["cut", "damaged", "plain"])
  func `A manifest that cannot be decoded is not stored`(_ kind: String) async throws {
    var body = EncodedPlaylists.gzip
    switch kind {
    case "cut": body.removeLast(9)
    case "damaged": body[60] ^= 0x10
    default: body = plain
    }
    try await withCache { [body] test async throws in
      test.origin.serve(EncodedPlaylists.resource(body, coding: "gzip"), at: "/a.m3u8")
      let error = await #expect(throws: MediaCacheError.self) { try await read(test, "/a.m3u8") }
      #expect(error?.code == .invalidResponse && error?.isEncoded == false)
      #expect(try await test.cache.entries().allSatisfy { $0.cachedBytes == 0 && !$0.isComplete })
    }
  }

  @Test func `A manifest that decodes to more than any manifest has is refused`() async throws {
    try await withCache { test async throws in
      let bomb = EncodedPlaylists.zeros(Int(Manifest.longest))
      test.origin.serve(EncodedPlaylists.resource(bomb, coding: "deflate"), at: "/a.m3u8")
      test.origin.serve(.synthetic(seed: 1, length: 5 << 20), at: "/b.m3u8")
      test.origin.script("/b.m3u8", .on(.all, .gzip))
      for path in ["/a.m3u8", "/b.m3u8"] {
        let error = await #expect(throws: MediaCacheError.self) { try await read(test, path) }
        #expect(error?.code == .invalidResponse && error?.isEncoded == true)
        #expect(error?.reason.contains("more bytes than a document has") == true)
        #expect(try await test.settledLog(path).requests.count == 1)
      }
      #expect(try await test.cache.entries().allSatisfy { $0.cachedBytes == 0 })
    }
  }

  @Test(arguments: [("/a.ts", "video/mp2t", "gzip"), ("/a.m3u8", "audio/mpegurl", "zstd")])
  func `Other resources and codings are refused`(
    path: String, type: String, coding: String
  ) async throws {
    try await withCache { test async throws in
      test.origin.serve(
        EncodedPlaylists.resource(EncodedPlaylists.gzip, coding: coding, type: type), at: path)
      let error = await #expect(throws: MediaCacheError.self) { try await read(test, path) }
      #expect(error?.code == .invalidResponse && error?.isEncoded == true)
    }
  }

  @Test func `A plain manifest with ranges is still requested by ranges`() async throws {
    try await withCache { test async throws in
      let length: Int64 = 1_000_000
      test.origin.serve(
        OriginResource(
          .synthetic(seed: 3, length: length), contentType: "audio/mpegurl", etag: "\"3\""),
        at: "/a.m3u8")
      test.origin.script("/a.m3u8", .on(.number(1), .drop(at: .body(400_000))))
      #expect(try await test.read("/a.m3u8") == SyntheticBytes(seed: 3).bytes(in: 0..<length))
      let requests = try await test.settledLog("/a.m3u8").requests
      #expect(requests.first?.request.range == nil)
      #expect(requests.dropFirst().allSatisfy { $0.request.range != nil } && requests.count > 1)
    }
  }

  #if canImport(Darwin)
    @Test(arguments: ["/a.m3u8", "/a"])
    func `A manifest that URLSession has decoded is stored`(path: String) async throws {
      try await withCache({ $0.transport = URLSessionTransport() }) { test async throws in
        test.origin.serve(
          EncodedPlaylists.resource(EncodedPlaylists.gzip, coding: "gzip"), at: path)
        for _ in 0..<2 { #expect(try await read(test, path) == plain) }
        let requests = try await test.settledLog(path).requests
        #expect(requests.last?.request.range == nil)
        #expect(requests.count == (path == "/a" ? 2 : 1))
        #expect(try await test.cache.entries().first?.isComplete == true)
      }
    }

    @Test func `A manifest that URLSession decodes to too many bytes is refused`() async throws {
      try await withCache({ $0.transport = URLSessionTransport() }) { test async throws in
        let bomb = EncodedPlaylists.zeros(Int(Manifest.longest))
        test.origin.serve(EncodedPlaylists.resource(bomb, coding: "deflate"), at: "/a.m3u8")
        let error = await #expect(throws: MediaCacheError.self) { try await read(test, "/a.m3u8") }
        #expect(
          error?.code == .invalidResponse && error?.reason.contains("4 MiB") == true,
          "\(String(describing: error))")
        #expect(try await test.cache.entries().allSatisfy { $0.cachedBytes == 0 })
      }
    }
  #endif
}
