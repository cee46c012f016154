// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// An origin that serves requests with its cookie alone, and redirects others to where it is set.
@Suite(.timeLimit(.minutes(1))) struct CookieGateTests {
  private let length: Int64 = 8_000_003
  private let bytes = SyntheticBytes(seed: 7)

  /// Serves `/a` to requests with the cookie; others are redirected through `gates`, of which the
  /// last sets the cookie and leads back.
  private func serve(
    _ test: TestCache, through gates: [String], headers: [Field] = [],
    setting cookie: String = "seen=1; Path=/"
  ) {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    resource.headers += headers
    test.origin.serve(resource, at: "/a")
    let isAsked = RequestMatcher.where { request in
      request.headers.first("Cookie")?.contains("seen=1") != true
    }
    for (path, next) in zip(["/a"] + gates, gates + ["/a"]) {
      var faults: [Fault] = [.redirect(302, to: next)]
      if next == "/a" { faults.append(.header("Set-Cookie", cookie)) }
      test.origin.script(path, .on(path == "/a" ? isAsked : .all, faults))
    }
  }

  private func cookies(_ test: TestCache, _ path: String = "/a") -> [String?] {
    test.origin.log(path).requests.map { $0.request.headers.first("Cookie") }
  }

  @Test(arguments: [[], ["/gate"], ["/gate", "/count"]])
  func `A resource behind redirects that set a cookie is stored, and the chain followed once`(
    _ gates: [String]
  ) async throws {
    try await withCache { test in
      serve(test, through: gates, headers: [Field("Cache-Control", "max-age=3600")])
      let reader = try await test.reader("/a")
      for start in stride(from: Int64(0), to: length, by: 2_000_000) {
        let part = start..<min(start + 2_000_000, length)
        try await #expect(Array(reader.bytes(in: part)) == bytes.bytes(in: part))
      }
      reader.cancel()
      let sent = cookies(test)
      #expect(sent.first == .some(nil) && sent.count > 3)
      #expect(sent.dropFirst().allSatisfy { $0 == "seen=1" })
      for gate in gates { #expect(cookies(test, gate).count == 1) }
      // It is fresh for a private cache: the cookie was nobody's.
      test.origin.resetLog("/a")
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(cookies(test).isEmpty)
    }
  }

  @Test func `The user's cookies are sent beside those of the chain`() async throws {
    try await withCache { test in
      serve(test, through: ["/gate"])
      let reader = try await test.cache.open(
        Resource(url: test.origin.url("/a"), headers: ["Cookie": "id=7"]))
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<100)) == bytes.bytes(in: 0..<100))
      #expect(cookies(test) == ["id=7", "id=7; seen=1"])
      #expect(cookies(test, "/gate") == ["id=7"])
    }
  }

  @Test func `A loop without a cookie for its URL ends after ten redirects`() async throws {
    try await withCache { test in
      serve(test, through: ["/gate"], setting: "seen=1; Path=/elsewhere")
      await expectError(.redirect) { try await test.read("/a", 0..<10) }
      #expect(cookies(test).count == 6 && cookies(test, "/gate").count == 5)
    }
  }

  @Test func `Cookies of a chain are not kept when its resource is closed`() async throws {
    try await withCache { test in
      serve(test, through: [], headers: [Field("Cache-Control", "no-cache")])
      for _ in 0..<2 {
        test.origin.resetLog("/a")
        _ = try await test.read("/a", 0..<10)
        #expect(cookies(test) == [nil, "seen=1"])
        try await test.closed()
      }
    }
  }

  @Test func `A shared cache does not store what redirects that set a cookie lead to`()
    async throws
  {
    try await withCache({ $0.isShared = true }) { test in
      serve(test, through: ["/gate"], headers: [Field("Cache-Control", "public, max-age=3600")])
      try await #expect(test.read("/a", 0..<1000) == bytes.bytes(in: 0..<1000))
      #expect(cookies(test) == [nil, "seen=1"])
      let progress = try await test.cache.progress(of: Resource(url: test.origin.url("/a")))
      #expect(progress.spans.isEmpty)
    }
  }
}
