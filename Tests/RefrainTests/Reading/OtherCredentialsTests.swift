// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// A reader whose credentials are refused stands in the way of no other.
@Suite(.timeLimit(.minutes(1))) struct OtherCredentialsTests {
  private let length: Int64 = 100_000
  private static let right = "Basic bWU6c2VjcmV0"

  private func serve(_ test: TestCache) {
    var resource = OriginResource.synthetic(seed: 1, length: length)
    resource.headers = [Field("Cache-Control", "max-age=600")]
    resource.requiredHeader = Field("Authorization", Self.right)
    test.origin.serve(resource, at: "/a")
  }

  private func resource(_ test: TestCache, _ authorization: String?) -> Resource {
    var headers = HeaderFields()
    headers["Authorization"] = authorization
    return Resource(url: test.origin.url("/a"), headers: headers)
  }

  private func asked(_ test: TestCache) async throws -> [String?] {
    try await test.settledLog("/a").requests.map { $0.request.headers.first("Authorization") }
  }

  @Test func `A reader does not send the credentials of a refused reader`() async throws {
    try await withCache({ $0.firstRequest = 200_000 }) { test async throws in
      serve(test)
      let refused = try await test.cache.open(resource(test, nil))
      await expectError(.status, status: 401) { try await refused.contentInformation() }
      let reader = try await test.cache.open(resource(test, Self.right))
      let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<length)
      #expect(try await Array(reader.bytes(in: 0..<length)) == bytes)
      #expect(try await asked(test) == [nil, Self.right])
      refused.cancel()
      reader.cancel()
    }
  }

  @Test func `A failed response does not separate readers with equal credentials`() async throws {
    try await withCache { test async throws in
      test.origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      test.origin.script("/a", .on(.first(1), .delay(nil), .status(404)))
      let url = test.origin.url("/a")
      let first = try await test.cache.open(Resource(url: url, headers: ["Accept": "audio/mpeg"]))
      defer { first.cancel() }
      let waiting = Task { try await first.contentInformation() }
      try await test.origin.wait(for: "/a") { $0.requests.count == 1 }
      let opening = Task {
        try await test.cache.open(Resource(url: url, headers: ["Accept": "audio/flac"]))
      }
      try await eventually("the second reader waits for the first answer") {
        let entry = test.cache.table.openEntry(for: CacheKey(url: url))
        return entry?.current?.withState { $0.readers.waiters.count } == 2
      }
      test.origin.release("/a")
      _ = await waiting.result
      let second = try await opening.value
      defer { second.cancel() }
      #expect(try await second.contentInformation().length == length)
      #expect(second.key == CacheKey(url: url))
    }
  }
}
