// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Origins that compress despite the request not to (RFC 9110 §12.5.3).
@Suite(.timeLimit(.minutes(1))) struct EncodedAnswerTests {
  @Test func `A compressed response is reported without a retry`() async throws {
    try await withCache { test async throws in
      test.origin.serve(.synthetic(seed: 1, length: 100_000), at: "/a")
      test.origin.script("/a", .on(.all, .gzip))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a") }
      #expect(error?.code == .invalidResponse && error?.isEncoded == true)
      #expect(error?.reason.contains("gzip") == true && error?.remedy.isEmpty == false)
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }

  @Test(arguments: ["", "ftp://a.example/x"])
  func `A redirect without a usable Location is reported without a retry`(
    _ location: String
  ) async throws {
    try await withCache { test async throws in
      let fields = location.isEmpty ? [] : [Field("Location", location)]
      test.origin.script("/a", .on(.all, .status(302, headers: fields)))
      let error = await #expect(throws: MediaCacheError.self) { try await test.read("/a") }
      #expect(error?.code == .redirect && error?.status == 302)
      #expect(try await test.settledLog("/a").requests.count == 1)
    }
  }
}
