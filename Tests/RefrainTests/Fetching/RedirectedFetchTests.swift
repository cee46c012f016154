// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct RedirectedFetchTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `A redirect is followed, relative and absolute`(_ status: Int) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/there/b")
      test.origin.script("/here/a", .on(.all, .redirect(status, to: "../there/c")))
      test.origin.script(
        "/there/c", .on(.all, .redirect(status, to: test.origin.url("/there/b").absoluteString)))
      let reader = try await test.reader("/here/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      try await #expect(reader.contentInformation().finalURL == test.origin.url("/there/b"))
      // Stored under what was asked for.
      try await #expect(test.cache.entry(for: CacheKey(url: test.origin.url("/here/a"))) != nil)
    }
  }

  @Test func `A circle is refused`() async throws {
    try await withCache { test in
      test.origin.script("/a", .on(.all, .redirect(302, to: "/b")))
      test.origin.script("/b", .on(.all, .redirect(302, to: "/a")))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a", 0..<10) }
      #expect(error?.code == .redirect && error?.remedy.isEmpty == false)
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `Ten hops are followed, eleven are not`() async throws {
    try await withCache { test in
      for hop in 0..<11 {
        test.origin.script("/\(hop)", .on(.all, .redirect(307, to: "/\(hop + 1)")))
      }
      test.origin.serve(resource, at: "/11")
      try await #expect(test.read("/1", 0..<10) == bytes.bytes(in: 0..<10))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/0", 0..<10) }
      #expect(error?.code == .redirect)
    }
  }

  @Test func `Credentials are not sent on to another origin`() async throws {
    let other = try await OriginServer.start()
    try await withCache { test in
      other.serve(resource, at: "/b")
      test.origin.script(
        "/a", .on(.all, .redirect(302, to: other.url("/b").absoluteString)))
      test.origin.script("/same", .on(.all, .redirect(302, to: "/kept")))
      test.origin.serve(resource, at: "/kept")
      for path in ["/a", "/same"] {
        let asked = Resource(
          url: test.origin.url(path),
          headers: ["Authorization": "Bearer secret", "Cookie": "a=b", "Accept": "audio/*"])
        let reader = try await test.cache.open(asked)
        defer { reader.cancel() }
        try await #expect(Array(reader.bytes(in: 0..<10)) == bytes.bytes(in: 0..<10))
      }
      func header(_ origin: OriginServer, _ path: String, _ name: String) -> String? {
        origin.log(path).requests.first?.request.headers.first(name)
      }
      #expect(header(test.origin, "/a", "Authorization") == "Bearer secret")
      #expect(header(other, "/b", "Authorization") == nil)
      #expect(header(other, "/b", "Cookie") == nil)
      #expect(header(other, "/b", "Accept") == "audio/*")
      #expect(header(other, "/b", "Range") == "bytes=0-65535")
      #expect(header(test.origin, "/kept", "Authorization") == "Bearer secret")
    }
    await other.stop()
  }
}
