// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A network that requires a sign-in responds in the origin's place with a redirect to a page. That
/// response says nothing about the stored bytes.
@Suite(.timeLimit(.minutes(1))) struct SignInPageTests {
  private let length: Int64 = 500_000
  private let bytes = SyntheticBytes(seed: 7)

  private func song(_ type: String = "audio/mpeg", etag: String? = "\"a\"") -> OriginResource {
    OriginResource(
      .synthetic(seed: 7, length: length), contentType: type, etag: etag,
      headers: [Field("Cache-Control", "no-cache")])
  }

  private let page = OriginResource(
    .synthetic(seed: 99, length: 1234), contentType: "text/html; charset=utf-8",
    supportsRanges: false)

  private func signIn(_ test: TestCache, _ path: String) {
    test.origin.serve(page, at: "/sign-in")
    test.origin.script(path, .on(.all, .redirect(302, to: "/sign-in")))
  }

  @Test(arguments: ["\"a\"", "W/\"a\"", nil])
  func `A stored entry is read while the network returns a sign-in page`(
    _ etag: String?
  ) async throws {
    try await withCache { test in
      test.origin.serve(song(etag: etag), at: "/a.mp3")
      _ = try await test.read("/a.mp3")
      signIn(test, "/a.mp3")
      for _ in 0..<2 {
        try await test.reopened { later in
          let events = later.cache.events(includingTraffic: false)
          try await #expect(later.read("/a.mp3") == bytes.bytes(in: 0..<length))
          let reader = try await later.reader("/a.mp3")
          #expect(try await reader.contentInformation().mimeType == "audio/mpeg")
          reader.cancel()
          await later.cache.close()
          let texts = await warnings(events)
          #expect(texts.contains { $0.contains("web page") }, "\(texts)")
        }
      }
      // The network lets requests through again.
      test.origin.script("/a.mp3", FaultScript())
      test.origin.resetLog("/a.mp3")
      try await test.reopened { later in
        try await #expect(later.read("/a.mp3") == bytes.bytes(in: 0..<length))
        if etag != nil { #expect(later.origin.log("/a.mp3").bodyBytesSent == 0) }
      }
    }
  }

  @Test func `A reader waits for missing bytes instead of using a sign-in page`() async throws {
    try await withCache({ $0.retry.attempts = 100 }) { test in
      test.origin.serve(song(), at: "/a.mp3")
      let reader = try await test.reader("/a.mp3")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      signIn(test, "/a.mp3")
      async let rest = reader.bytes(in: 400_000..<401_000)
      try await test.origin.wait(for: "/sign-in") { $0.requests.count >= 2 }
      test.origin.script("/a.mp3", FaultScript())
      try await #expect(Array(rest) == bytes.bytes(in: 400_000..<401_000))
    }
  }

  @Test func `A stored song without a Content-Type is kept over a sign-in page`() async throws {
    try await withCache { test in
      test.origin.serve(song(), at: "/a.mp3")
      test.origin.script("/a.mp3", .on(.all, .header("Content-Type", nil)))
      try await #expect(test.read("/a.mp3") == bytes.bytes(in: 0..<length))
      signIn(test, "/a.mp3")
      let reader = try await test.cache.open(
        Resource(url: test.origin.url("/a.mp3")), on: Self.confirmed)
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<length)) == bytes.bytes(in: 0..<length))
    }
  }

  @Test func `A web page is stored, and another page or a song may replace it`() async throws {
    try await withCache { test in
      test.origin.serve(page, at: "/a.mp3")
      let first = try await test.read("/a.mp3")
      #expect(first == SyntheticBytes(seed: 99).bytes(in: 0..<1234))
      var other = page
      other.content = .synthetic(seed: 98, length: 1300)
      test.origin.serve(other, at: "/a.mp3")
      try await #expect(test.read("/a.mp3") == SyntheticBytes(seed: 98).bytes(in: 0..<1300))
      // The song replaces the page.
      test.origin.serve(song(), at: "/a.mp3")
      try await #expect(test.read("/a.mp3") == bytes.bytes(in: 0..<length))
    }
  }

  private static let confirmed: ReadTerms = {
    var terms = ReadTerms()
    terms.directives.noCache = true
    return terms
  }()
}
