// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The fields that every request to an origin has.
@Suite(.timeLimit(.minutes(1))) struct RequestFieldTests {
  private func values(_ origin: OriginServer, _ path: String, _ name: String) -> [String?] {
    origin.log(path).requests.map { $0.request.headers.first(name) }
  }

  @Test func `Requests say that any type is accepted, and name the program`() async throws {
    try await withCache { test async throws in
      var stale = OriginResource.synthetic(seed: 1, length: 100_000)
      stale.headers = [Field("Cache-Control", "no-cache")]
      test.origin.serve(stale, at: "/b")
      test.origin.script(
        "/a",
        .on(.where { $0.headers.first("Accept") == nil }, .status(403))
          .on(.all, .redirect(302, to: test.origin.url("/b").absoluteString)))
      let resource = Resource(url: test.origin.url("/a"))
      // The first request, the rest, and the confirmation of what is stored.
      let reader = try await test.cache.open(resource)
      #expect(try await reader.bytes(in: 0..<10).count == 10)
      reader.cancel()
      try await test.cache.prefetch(resource)
      try await eventually("the entry is closed") {
        try await test.cache.entry(for: resource.url)?.isInUse == false
      }
      _ = try await test.read("/a")
      #expect(values(test.origin, "/b", "If-None-Match").last != .some(nil))
      for path in ["/a", "/b"] {
        #expect(Set(values(test.origin, path, "Accept")) == ["*/*"], "\(path)")
        #expect(Set(values(test.origin, path, "User-Agent")) == ["Refrain"], "\(path)")
      }
    }
  }

  @Test func `Another Accept and another program name of the user are sent`() async throws {
    try await withCache { test async throws in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a")
      try await test.cache.prefetch(
        Resource(
          url: test.origin.url("/a"), headers: ["accept": "audio/*", "user-agent": "player"]))
      #expect(values(test.origin, "/a", "Accept") == ["audio/*"])
      #expect(values(test.origin, "/a", "User-Agent") == ["player"])
    }
  }

  @Test func `Requests without Accept select the response to one that accepts any type`()
    async throws
  {
    try await withCache { test async throws in
      var resource = OriginResource.synthetic(seed: 1, length: 1000)
      resource.headers = [Field("Vary", "Accept"), Field("Cache-Control", "max-age=600")]
      test.origin.serve(resource, at: "/a")
      try await test.cache.prefetch(test.origin.url("/a"))
      try await test.cache.prefetch(
        Resource(url: test.origin.url("/a"), headers: ["Accept": "*/*"]))
      #expect(test.origin.log("/a").requests.count == 1)
      try await test.cache.prefetch(
        Resource(url: test.origin.url("/a"), headers: ["Accept": "audio/*"]))
      #expect(test.origin.log("/a").requests.count == 2)
    }
  }
}
