// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// The sessions of streams when a proxy starts again over the same cache directory.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionRestartTests {
  private static let token = "a-token-for-the-tests"

  /// Runs a test with a cache directory and an origin that outlive its proxies.
  private func withDirectory(_ body: (URL, OriginServer) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "refrain-session-test-\(UUID().uuidString)", directoryHint: .isDirectory)
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    let result: Result<Void, any Error>
    do { result = .success(try await body(directory, origin)) } catch { result = .failure(error) }
    await origin.stop()
    try result.get()
  }

  /// Runs a test with one proxy of several.
  private func run(
    _ directory: URL, _ origin: OriginServer, token: String? = token,
    _ body: (TestProxy) async throws -> Void
  ) async throws {
    try await withProxy(
      directory: directory, origin: origin,
      proxy: { configuration, _ in
        configuration.token = token
      }, body)
  }

  /// Serves a stream whose segments need this field.
  private func serve(on origin: OriginServer, setting cookie: String?, needing field: Field) {
    let list = "#EXTM3U\n#EXTINF:2,\ns0.ts\n#EXTINF:2,\n/s1.ts\n#EXTINF:2,\ns2.ts\n"
    origin.serve(
      OriginResource(
        .bytes(Array(list.utf8)), contentType: "audio/mpegurl",
        headers: cookie.map { [Field("Set-Cookie", $0)] } ?? []), at: "/list.m3u8")
    var segment = OriginResource.synthetic(seed: 1, length: 1000)
    segment.requiredHeader = field
    for path in ["/s0.ts", "/s1.ts", "/s2.ts"] { origin.serve(segment, at: path) }
  }

  private func sessionFiles(in directory: URL) throws -> [URL] {
    let place = directory.appending(path: "private")
    guard FileManager.default.fileExists(atPath: place.path()) else { return [] }
    return try FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
      .filter { !["lock", "removal"].contains($0.lastPathComponent) }
  }

  static let credentials: [(cookie: String?, headers: [String], needed: Field)] = [
    ("CloudFront-Policy=abc; Path=/; HttpOnly", [], Field("Cookie", "CloudFront-Policy=abc")),
    ("sig=1; Path=/; Max-Age=3600", [], Field("Cookie", "sig=1")),
    (nil, ["Authorization: Bearer x"], Field("Authorization", "Bearer x")),
  ]

  @Test(arguments: credentials.indices)
  func `A stream plays on after a restart, without its playlist`(index: Int) async throws {
    let (cookie, headers, needed) = Self.credentials[index]
    try await withDirectory { directory, origin in
      serve(on: origin, setting: cookie, needing: needed)
      var parts: [String] = []
      try await run(directory, origin) { test in
        let (reply, target) = try await test.follow(try test.target("/list.m3u8"), headers)
        parts = try ["s0.ts", "s1.ts", "s2.ts"].map {
          try test.reference(reply, to: $0, at: target)
        }
        let (segment, _) = try await test.follow(parts[0])
        #expect(segment.body.count == 1000)
      }
      let lists = origin.log("/list.m3u8").requests.count
      let part = parts[1]
      try await run(directory, origin) { test in
        let (segment, _) = try await test.follow(part)
        #expect(segment.body.count == 1000)
      }
      #expect(origin.log("/list.m3u8").requests.count == lists)
      // With another token, the same identifier names nothing.
      let other = parts[2].replacing(Self.token, with: "another-token-of-tests")
      try await run(directory, origin, token: "another-token-of-tests") { test in
        let (segment, _) = try await test.follow(other)
        #expect(segment.status == 401)
      }
    }
  }

  @Test func `A stream that begins again after a restart continues its session`() async throws {
    try await withDirectory { directory, origin in
      serve(on: origin, setting: "a=b; Path=/", needing: Field("Cookie", "a=b"))
      var targets: Set<String> = []
      for _ in 0..<2 {
        try await run(directory, origin) { test in
          targets.insert(try await test.follow(try test.target("/list.m3u8")).target)
        }
      }
      #expect(targets.count == 1 && targets.first?.contains("/~") == true)
    }
  }

  @Test func `A stream that begins again after a removal by another process survives a restart`()
    async throws
  {
    try await withDirectory { directory, origin in
      serve(on: origin, setting: nil, needing: Field("Authorization", "Bearer x"))
      var part = ""
      try await run(directory, origin) { test in
        func begin() async throws -> String {
          let (reply, target) = try await test.follow(
            try test.target("/list.m3u8"), ["Authorization: Bearer x"])
          return try test.reference(reply, to: "s1.ts", at: target)
        }
        let before = try await begin()
        let again = try await begin()
        #expect(again == before)
        let other = try MediaCache(directory: directory)
        try await other.removeAll()
        await other.close()
        part = try await begin()
        #expect(part != before)
        let (segment, _) = try await test.follow(before)
        #expect(segment.body.count == 1000)
      }
      let stored = part
      try await run(directory, origin) { test in
        let (segment, _) = try await test.follow(stored)
        #expect(segment.body.count == 1000)
      }
    }
  }

  @Test func `Only a chosen token keeps sessions`() async throws {
    for token in [nil, Self.token] {
      try await withDirectory { directory, origin in
        serve(on: origin, setting: "a=b; Path=/", needing: Field("Cookie", "a=b"))
        try await run(directory, origin, token: token) { test in
          let (_, target) = try await test.follow(try test.target("/list.m3u8"))
          #expect(target.contains("/~"))
        }
        let files = try sessionFiles(in: directory)
        #expect(files.count == (token == nil ? 0 : 1))
      }
    }
  }

  @Test func `Only the owner can read the sessions, and removing everything removes them`()
    async throws
  {
    try await withDirectory { directory, origin in
      serve(on: origin, setting: "secret=b; Path=/", needing: Field("Cookie", "secret=b"))
      try await run(directory, origin) { test in
        _ = try await test.follow(try test.target("/list.m3u8"))
      }
      let file = try #require(try sessionFiles(in: directory).first)
      let text = try String(contentsOf: file, encoding: .utf8)
      #expect(text.contains("secret"))
      for (url, mode) in [(file, 0o600), (file.deletingLastPathComponent(), 0o700)] {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path())
        #expect(attributes[.posixPermissions] as? Int == mode)
      }
      let cache = try MediaCache(directory: directory)
      try await cache.removeAll()
      await cache.close()
      let left = try sessionFiles(in: directory)
      #expect(left.isEmpty)
    }
  }

  @Test(arguments: ["", "{}\n", "not JSON\n\u{0}", "{\"version\":2,\"token\":\"x\"}\n"])
  func `A damaged file is replaced`(contents: String) async throws {
    try await withDirectory { directory, origin in
      serve(on: origin, setting: "a=b; Path=/", needing: Field("Cookie", "a=b"))
      try await run(directory, origin) { test in
        _ = try await test.follow(try test.target("/list.m3u8"))
      }
      let file = try #require(try sessionFiles(in: directory).first)
      let before = try String(contentsOf: file, encoding: .utf8)
      try Data(contents.utf8).write(to: file)
      try await run(directory, origin) { test in
        // The manifest is stored: its response, which sets the cookie, comes once more.
        let (reply, _) = try await test.follow(
          try test.target("/list.m3u8"), ["Cache-Control: no-store"])
        #expect(reply.status == 200)
      }
      let after = try String(contentsOf: file, encoding: .utf8)
      #expect(after != contents && after != before && after.contains("\"name\":\"a\""))
    }
  }
}
