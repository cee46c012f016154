// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct RedirectedFetchTests {
  private let length: Int64 = 300_007
  private let bytes = SyntheticBytes(seed: 7)
  private var resource: OriginResource { .synthetic(seed: 7, length: length) }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `Relative and absolute redirects are followed`(_ status: Int) async throws {
    try await withCache { test in
      test.origin.serve(resource, at: "/there/b")
      test.origin.script("/here/a", .on(.all, .redirect(status, to: "../there/c")))
      test.origin.script(
        "/there/c", .on(.all, .redirect(status, to: test.origin.url("/there/b").absoluteString)))
      let reader = try await test.reader("/here/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      try await #expect(reader.contentInformation().finalURL == test.origin.url("/there/b"))
      // Stored under the requested URL.
      try await #expect(test.cache.entry(for: CacheKey(url: test.origin.url("/here/a"))) != nil)
    }
  }

  @Test func `A redirect loop is refused`() async throws {
    try await withCache { test in
      test.origin.script("/a", .on(.all, .redirect(302, to: "/b")))
      test.origin.script("/b", .on(.all, .redirect(302, to: "/a")))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a", 0..<10) }
      #expect(error?.code == .redirect && error?.remedy.isEmpty == false)
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  @Test func `Ten redirects are followed, eleven are refused`() async throws {
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

  // MARK: The end of a chain

  /// `/0` redirects to `/4` through three others.
  private func serveChain(_ test: TestCache, _ resource: OriginResource) {
    for hop in 0..<4 {
      test.origin.script("/\(hop)", .on(.all, .redirect(302, to: "/\(hop + 1)")))
    }
    test.origin.serve(resource, at: "/4")
  }

  @Test func `A redirect chain is followed once, and later requests go to its end`() async throws {
    try await withCache { test in
      let length: Int64 = 8_000_003
      serveChain(test, .synthetic(seed: 7, length: length))
      let reader = try await test.reader("/0")
      defer { reader.cancel() }
      for start in stride(from: Int64(0), to: length, by: 2_000_000) {
        let part = start..<min(start + 2_000_000, length)
        try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
      }
      #expect(test.origin.log("/4").requests.count > 3)
      for hop in 0..<4 { #expect(test.origin.log("/\(hop)").requests.count == 1) }
    }
  }

  @Test(arguments: [Fault.status(403), .status(404), .status(500), .closeWithoutAnswer])
  func `A redirect chain is followed again if its end fails`(_ fault: Fault) async throws {
    try await withCache { test in
      serveChain(test, .synthetic(seed: 7, length: 2_000_003))
      // A reused connection that closes without a response makes the transport resend the request.
      let failing = if case .closeWithoutAnswer = fault { 2...3 } else { 2...2 }
      test.origin.script("/4", .on(.where { failing.contains($0.number) }, fault))
      let reader = try await test.reader("/0")
      defer { reader.cancel() }
      for part in [0..<1_000_000, 1_000_000..<2_000_003] as [ByteRange] {
        try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
      }
      for hop in 0..<4 { #expect(test.origin.log("/\(hop)").requests.count == 2) }
    }
  }

  @Test func `A confirmation follows the redirect chain from its start`() async throws {
    try await withCache { test in
      var stale = resource
      stale.headers = [Field("Cache-Control", "no-cache")]
      serveChain(test, stale)
      let holder = try await test.reader("/0")
      defer { holder.cancel() }
      _ = try await holder.bytes(in: 0..<10)
      holder.generation.withState { $0.vouchedAt = nil }
      let before = test.origin.log("/0").requests.count
      _ = try await test.read("/0", 0..<10)
      #expect(test.origin.log("/0").requests.count > before)
    }
  }

  @Test func `Fields dropped by a redirect stay dropped in later requests`() async throws {
    let other = try await OriginServer.start()
    try await withCache { test in
      other.serve(.synthetic(seed: 7, length: 2_000_003), at: "/b")
      test.origin.script("/a", .on(.all, .redirect(302, to: other.url("/b").absoluteString)))
      let asked = Resource(
        url: test.origin.url("/a"),
        headers: ["Authorization": "Bearer secret", "X-Key": "k", "Accept": "audio/*"])
      let reader = try await test.cache.open(asked)
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<1_000_000)
      _ = try await reader.bytes(in: 1_000_000..<2_000_003)
      #expect(test.origin.log("/a").requests.count == 1)
      let requests = other.log("/b").requests.map(\.request)
      #expect(requests.count > 1)
      for request in requests {
        #expect(request.headers.first("Authorization") == nil)
        #expect(request.headers.first("X-Key") == nil)
        #expect(request.headers.first("Accept") == "audio/*")
      }
    }
    await other.stop()
  }

  @Test func `A shortcut to a URL that the filter refuses is not used`() async throws {
    try await withCache { test in
      serveChain(test, .synthetic(seed: 7, length: 2_000_003))
      let isOpen = Atomic(true)
      let target = test.origin.url("/4")
      var asked = Resource(url: test.origin.url("/0"))
      asked.filter = URLFilter { isOpen.load(ordering: .relaxed) || $0 != target }
      let reader = try await test.cache.open(asked)
      defer { reader.cancel() }
      _ = try await reader.bytes(in: 0..<10)
      isOpen.store(false, ordering: .relaxed)
      let before = test.origin.log("/4").requests.count
      let error = await #expect(throws: MediaCacheError.self) {
        try await reader.bytes(in: 1_900_000..<1_900_010)
      }
      #expect(error?.code == .redirect)
      #expect(test.origin.log("/4").requests.count == before)
    }
  }

  @Test func `A shortcut carries only the credentials for its origin`() throws {
    func url(_ text: String) throws -> URL { try #require(URL(string: text)) }
    let secret = ["Authorization": "Bearer s", "Range": "bytes=0-9"] as HeaderFields
    var policy = RedirectPolicy(request: OriginRequest(url: try url("http://a/"), headers: secret))
    #expect(policy.shortcut == nil)
    _ = try policy.follow(status: 302, headers: ["Location": "/b"])
    let same = try #require(policy.shortcut)
    let kept = RedirectPolicy(
      request: OriginRequest(url: try url("http://a/"), headers: secret), at: same)
    #expect(kept.request.headers["Authorization"] == "Bearer s")
    #expect(kept.request.url.absoluteString == "http://a/b")
    _ = try policy.follow(status: 302, headers: ["Location": "http://me:pw@b/c"])
    let named = try #require(policy.shortcut)
    let other = RedirectPolicy(
      request: OriginRequest(url: try url("http://a/"), headers: secret), at: named)
    #expect(other.request.headers["Authorization"] == "Basic bWU6cHc=")
    #expect(other.request.headers["Range"] == "bytes=0-9")
    _ = try policy.follow(status: 302, headers: ["Location": "http://c/"])
    let last = try #require(policy.shortcut)
    let none = RedirectPolicy(
      request: OriginRequest(url: try url("http://a/"), headers: secret), at: last)
    #expect(none.request.headers["Authorization"] == nil)
  }
}
