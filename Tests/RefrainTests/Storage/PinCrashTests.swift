// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Pins after a crash, a power cut, and a new version at the origin.
@Suite(.timeLimit(.minutes(2)))
struct PinCrashTests {
  private let length: Int64 = 2_000_000

  private func resource(_ seed: UInt64, maxAge: Int) -> OriginResource {
    var resource = OriginResource.synthetic(seed: seed, length: length)
    resource.etag = "\"seed-\(seed)\""
    resource.headers.append(Field("Cache-Control", "max-age=\(maxAge)"))
    return resource
  }

  @Test func `An entry pinned while another process holds it outlives its kill`() async throws {
    try await withCache({ $0.trustStored = true }) { test in
      for (seed, name) in ["held", "a", "b", "c"].enumerated() {
        test.origin.serve(resource(UInt64(seed), maxAge: 3600), at: "/\(name).wav")
      }
      let (url, directory) = (test.origin.url("/held.wav"), test.directory)
      let holder = try await HoldingProcess.start(directory, url)
      try await eventually("the entry is recorded") {
        StoredBytes(directory, url).usableSpans().byteCount > 100_000
      }
      try await #expect(test.cache.pin(CacheKey(url: url)))
      try await holder.kill()
      let before = try StoredBytes(directory, url).spans()
      #expect(before.byteCount > 100_000)
      // The pinned entry and one other fit.
      let configuration = TestCache.configuration {
        $0.limit = 2 * length + 500_000
        $0.trustStored = true
      }
      let cache = try MediaCache(directory: directory, configuration: configuration)
      SystemFiles.setChangeTime(
        of: StoredBytes(directory, url).directory.recordPath, to: 1_000_000_000)
      for name in ["a", "b", "c"] {
        let reader = try await cache.open(test.origin.url("/\(name).wav"))
        _ = try await reader.bytes(in: 0..<length)
        reader.cancel()
      }
      let entry = try #require(try await cache.entry(for: url))
      #expect(entry.isPinned)
      #expect(entry.spans == before)
      await cache.close()
    }
  }

  @Test func `A pin survives a power cut`() async throws {
    let directory = CacheDirectory(length: length)
    let disk = PowerCutDisk()
    let url = try directory.url()
    let cache = try directory.cache(disk: disk)
    try await cache.prefetch(url)
    try await cache.pin(url)
    let image = disk.image
    await cache.close()
    for _ in 0..<20 {
      let seed = TestSeed.next()
      var random = SeededGenerator(seed: seed)
      let copy = TestCache.temporaryDirectory()
      defer { try? FileManager.default.removeItem(at: copy) }
      try image.materialise("\(directory.path)/", as: copy.path(percentEncoded: false), &random)
      let pinned = StoredBytes(copy, url).directory
      #expect(try pinned.loadRecord().files.isPinned, "seed \(seed)")
    }
  }

  @Test func `A new version at the origin is pinned as the old one was`() async throws {
    try await withCache { test in
      test.origin.serve(resource(1, maxAge: 0), at: "/a.wav")
      let url = test.origin.url("/a.wav")
      try await test.cache.prefetch(url)
      try await test.cache.pin(url)
      test.origin.serve(resource(2, maxAge: 0), at: "/a.wav")
      let bytes = SyntheticBytes(seed: 2)
      try await #expect(test.read("/a.wav") == bytes.bytes(in: 0..<length))
      try await test.cache.prefetch(url)
      let entry = try #require(try await test.cache.entry(for: url))
      #expect(entry.isPinned && entry.isComplete)
      #expect(try StoredBytes(test.directory, url).firstWrongByte(bytes) == nil)
    }
  }
}
