// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct NoStoreTests {
  private let length: Int64 = 5_000_003
  private let bytes = SyntheticBytes(seed: 7)

  private func serve(_ test: TestCache, supportsRanges: Bool = true) {
    var resource = OriginResource.synthetic(seed: 7, length: length)
    resource.supportsRanges = supportsRanges
    resource.headers.append(Field("Cache-Control", "no-store"))
    test.origin.serve(resource, at: "/a")
  }

  private func files(_ directory: URL) -> [String] {
    let found = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
    return (found?.allObjects ?? []).compactMap { ($0 as? URL)?.lastPathComponent }
      .filter { $0.contains(".") }
  }

  @Test(arguments: [true, false])
  func `An unstorable response is passed on, and nothing is stored`(
    _ supportsRanges: Bool
  ) async throws {
    try await withCache { test in
      serve(test, supportsRanges: supportsRanges)
      try await #expect(test.read("/a") == bytes.bytes(in: 0..<length))
      #expect(test.origin.log("/a").bytesSentTwice == 0)
      try await #expect(test.cache.entries().isEmpty)
      await test.cache.close()
      #expect(files(test.directory).isEmpty)
    }
  }

  @Test func `Concurrent readers of an unstorable resource read different ranges`() async throws {
    try await withCache { test in
      serve(test)
      try await concurrently(4) { index in
        let start = Int64(index) * 1_000_000
        let range = start..<start + 900_000
        try await #expect(test.read("/a", range) == bytes.bytes(in: range))
      }
    }
  }

  @Test func `A prefetch of an unstorable resource is an error, after one request`() async throws {
    try await withCache { test in
      serve(test)
      let resource = Resource(url: test.origin.url("/a"))
      await expectError(.storage) { try await test.cache.prefetch(resource) }
      let log = try await test.settledLog("/a")
      #expect(log.requests.count == 1)
    }
  }

  /// Its bytes would be discarded and requested again without end.
  @Test func `A prefetch of an unstorable resource ends beside an open reader, too`() async throws {
    try await withCache { test in
      serve(test)
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      try await #expect(Array(reader.bytes(in: 0..<1000)) == bytes.bytes(in: 0..<1000))
      let resource = Resource(url: test.origin.url("/a"))
      await expectError(.storage) {
        try await test.cache.prefetch(resource, range: 4_000_000..<4_100_000)
      }
      #expect(test.origin.log("/a").requests.count < 20)
    }
  }
}
