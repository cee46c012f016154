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

  @Test(arguments: ["", "ftp://a.example/x"])
  func `A redirect without a usable Location is reported without a retry`(
    _ location: String
  ) async throws {
    try await withCache { test async throws in
      let fields = location.isEmpty ? [] : [Field("Location", location)]
      test.origin.script("/a", .on(.all, .status(302, headers: fields)))
      await expectError(.redirect, status: 302) { try await test.read("/a", 0..<10) }
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }

  @Test func `A refused redirect is reported although its body breaks off`() async throws {
    let transport = ScriptedTransport { _ in
      OriginResponse(
        status: 302, headers: ["Location": "ftp://a.example/x", "Content-Length": "10"],
        body: AsyncThrowingStream<Data, any Error> {
          $0.finish(throwing: TransportError(.connectionLost, "It broke."))
        })
    }
    try await withTransport(transport) { cache in
      let resource = Resource(url: try #require(URL(string: "http://h/a")))
      await expectError(.redirect, status: 302) { try await cache.prefetch(resource) }
      #expect(transport.requests.count == 1)
    }
  }

  /// As an application that sends the redirect and goes on working has it.
  @Test func `A redirect is followed although its body does not end`() async throws {
    let (endless, _) = AsyncThrowingStream<Data, any Error>.makeStream()
    let transport = ScriptedTransport { request in
      if request.url.path == "/a" {
        return OriginResponse(status: 302, headers: ["Location": "/b"], body: endless)
      }
      return OriginResponse(
        status: 200, headers: ["Content-Length": "2"],
        body: AsyncThrowingStream<Data, any Error> {
          $0.yield(Data("ab".utf8))
          $0.finish()
        })
    }
    try await withTransport(transport) { cache in
      var terms = ReadTerms()
      terms.passesOnErrors = true
      let resource = Resource(url: try #require(URL(string: "http://h/a")))
      let reader = try await cache.open(resource, on: terms)
      defer { reader.cancel() }
      #expect(try await reader.contentInformation().length == 2)
    }
  }

  @Test func `A redirect loop ends after ten redirects`() async throws {
    try await withCache { test in
      test.origin.script("/a", .on(.all, .redirect(302, to: "/b")))
      test.origin.script("/b", .on(.all, .redirect(302, to: "/a#again")))
      await expectError(.redirect) { try await test.read("/a", 0..<10) }
      #expect(test.origin.log("/a").requests.count == 6)
    }
  }

  @Test func `Ten redirects are followed, eleven are refused`() async throws {
    try await withCache { test in
      for hop in 0..<11 {
        test.origin.script("/\(hop)", .on(.all, .redirect(307, to: "/\(hop + 1)")))
      }
      test.origin.serve(resource, at: "/11")
      try await #expect(test.read("/1", 0..<10) == bytes.bytes(in: 0..<10))
      await expectError(.redirect) { try await test.read("/0", 0..<10) }
    }
  }

  /// In every request to the other origin, also those that go there at once.
  @Test func `Another origin receives the fields that describe the player alone`() async throws {
    let other = try await OriginServer.start()
    try await withCache { test in
      let long: Int64 = 2_000_003
      other.serve(.synthetic(seed: 7, length: long), at: "/b")
      test.origin.serve(.synthetic(seed: 7, length: long), at: "/kept")
      test.origin.script("/a", .on(.all, .redirect(302, to: other.url("/b").absoluteString)))
      test.origin.script("/same", .on(.all, .redirect(302, to: "/kept")))
      let harmless: HeaderFields = [
        "Referer": "https://site.example/watch", "Origin": "https://site.example",
        "User-Agent": "player", "Accept-Language": "de", "Accept": "audio/*",
      ]
      var headers = harmless
      for name in ["Authorization", "Cookie", "X-Key"] { headers.append(name, "a=secret") }
      for path in ["/a", "/same"] {
        let reader = try await test.cache.open(
          Resource(url: test.origin.url(path), headers: headers))
        defer { reader.cancel() }
        for part in [0..<1_000_000, 1_000_000..<long] as [ByteRange] {
          try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
        }
        #expect(test.origin.log(path).requests.count == 1)
      }
      let requests = other.log("/b").requests.map(\.request)
      #expect(requests.count > 1)
      for request in requests {
        for field in harmless.fields { #expect(request.headers.first(field.name) == field.value) }
        for name in ["Authorization", "Cookie", "X-Key"] {
          #expect(request.headers.first(name) == nil)
        }
        #expect(request.range != nil)
      }
      for path in ["/a", "/kept"] {
        let request = test.origin.log(path).requests.first?.request
        #expect(request?.headers.first("Authorization") == "a=secret")
      }
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
      // A reused connection that closes without a response makes the transport resend the request; on
      // a new one, the chain is followed once more.
      let failing = if case .closeWithoutAnswer = fault { 2...3 } else { 2...2 }
      test.origin.script("/4", .on(.where { failing.contains($0.number) }, fault))
      let reader = try await test.reader("/0")
      defer { reader.cancel() }
      for part in [0..<1_000_000, 1_000_000..<2_000_003] as [ByteRange] {
        try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
      }
      for hop in 0..<4 {
        #expect((2...failing.upperBound).contains(test.origin.log("/\(hop)").requests.count))
      }
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
      holder.generation.withState { $0.representation.lastContact = nil }
      let before = test.origin.log("/0").requests.count
      _ = try await test.read("/0", 0..<10)
      #expect(test.origin.log("/0").requests.count > before)
    }
  }

  @Test(arguments: [nil, "\"two\""])
  func `The end of a chain is forgotten once its start is the resource itself`(
    _ etag: String?
  ) async throws {
    try await withCache { test in
      func version(_ seed: UInt64, _ etag: String?) -> OriginResource {
        OriginResource(
          .synthetic(seed: seed, length: 2_000_003), etag: etag,
          headers: [Field("Cache-Control", "no-cache")])
      }
      test.origin.serve(version(7, etag.map { _ in "\"one\"" }), at: "/one")
      test.origin.serve(version(8, etag), at: "/latest")
      test.origin.script("/latest", .on(.where { $0.number == 1 }, .redirect(302, to: "/one")))
      let holder = try await test.reader("/latest")
      defer { holder.cancel() }
      _ = try await holder.contentInformation()
      _ = try await test.settledLog("/one")
      holder.generation.withState { $0.representation.lastContact = nil }
      let reader = try await test.reader("/latest")
      defer { reader.cancel() }
      for part in [0..<10, 1_900_000..<1_900_010] as [ByteRange] {
        try await #expect(
          Array(reader.bytes(in: part)) == SyntheticBytes(seed: 8).bytes(in: part))
      }
    }
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
      await expectError(.redirect) { try await reader.bytes(in: 1_900_000..<1_900_010) }
      #expect(test.origin.log("/4").requests.count == before)
    }
  }

  @Test func `A shortcut carries only the credentials for its origin`() throws {
    func url(_ text: String) throws -> URL { try #require(URL(string: text)) }
    let secret = ["Authorization": "Bearer s", "Range": "bytes=0-9"] as HeaderFields
    var policy = RequestChain(request: OriginRequest(url: try url("http://a/"), headers: secret))
    #expect(policy.redirections.isEmpty)
    _ = try policy.follow(status: 302, headers: ["Location": "/b"])
    let same = policy
    let kept = RequestChain(
      request: OriginRequest(url: try url("http://a/"), headers: secret), after: same)
    #expect(kept.request.headers["Authorization"] == "Bearer s")
    #expect(kept.request.url.absoluteString == "http://a/b")
    // A password that the redirect names is not sent.
    _ = try policy.follow(status: 302, headers: ["Location": "http://me:pw@b/c"])
    #expect(policy.request.url.absoluteString == "http://b/c")
    #expect(policy.request.headers["Authorization"] == nil)
    let other = RequestChain(
      request: OriginRequest(url: try url("http://a/"), headers: secret), after: policy)
    #expect(other.request.headers["Authorization"] == nil)
    #expect(other.request.headers["Range"] == "bytes=0-9")
  }
}
