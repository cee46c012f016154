// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct OfflineTests {
  private let length: Int64 = 1_000_003
  private let bytes = SyntheticBytes(seed: 7)

  @Test
  func `An offline cache reads stored bytes without requests and reports holes`() async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try await OriginServer.start()
    origin.serve(.synthetic(seed: 7, length: length), at: "/a")
    try await withCache(directory: directory, origin: origin) { test in
      _ = try await test.read("/a", 200_000..<210_000)
    }
    origin.resetLog("/a")
    try await withCache(directory: directory, origin: origin, { $0.offline = true }) { test in
      for fill in [FillPolicy.onDemand, .wholeResource] {
        let reader = try await test.reader("/a", fill: fill)
        defer { reader.cancel() }
        try await #expect(reader.contentInformation().length == length)
        let stored: ByteRange = 200_000..<210_000
        try await #expect(Array(reader.bytes(in: stored)) == bytes.bytes(in: stored))
        let error = await #expect(throws: MediaCacheError.self) {
          try await reader.bytes(in: 0..<10)
        }
        #expect(error?.code == .offline && error?.remedy.isEmpty == false)
        let unknown = try await test.reader("/other", fill: fill)
        defer { unknown.cancel() }
        let other = await #expect(throws: MediaCacheError.self) {
          try await unknown.contentInformation()
        }
        #expect(other?.code == .offline)
      }
      let resource = Resource(url: origin.url("/a"))
      let error = await #expect(throws: MediaCacheError.self) {
        try await test.cache.prefetch(resource)
      }
      #expect(error?.code == .offline)
    }
    #expect(origin.log("/a").requests.isEmpty && origin.log("/other").requests.isEmpty)
    await origin.stop()
  }
}
