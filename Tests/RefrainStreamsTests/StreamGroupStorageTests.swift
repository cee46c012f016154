// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Streams in a cache directory: which entries belong to them, and removing them.
@Suite(.timeLimit(.minutes(1)))
struct StreamGroupStorageTests {
  private static let manifest = "/main.m3u8"

  private func resource(
    _ path: String, in stream: String? = manifest, isKey: Bool = false, _ test: TestCache
  ) -> Resource {
    var resource = Resource(url: test.origin.url(path))
    resource.policy.group = stream.map {
      ResourcePolicy.Group(first: CacheKey(url: test.origin.url($0)), isSecret: isKey)
    }
    return resource
  }

  private func serve(_ paths: [String], _ test: TestCache, _ headers: [Field] = []) {
    for (seed, path) in paths.enumerated() {
      var resource = OriginResource.synthetic(seed: UInt64(seed), length: 3000)
      resource.headers = headers
      test.origin.serve(resource, at: path)
    }
  }

  /// Fetches a stream of three segments, and a song.
  private func fetchAll(_ test: TestCache) async throws {
    serve([Self.manifest, "/song.mp3", "/0.ts", "/1.ts", "/2.ts"], test)
    try await test.cache.prefetch(resource(Self.manifest, test))
    try await test.cache.prefetch(resource("/song.mp3", in: nil, test))
    for number in 0..<3 { try await test.cache.prefetch(resource("/\(number).ts", test)) }
  }

  private func stream(of path: String, _ test: TestCache) async throws -> String? {
    let entry = try await test.cache.entry(for: CacheKey(url: test.origin.url(path)))
    return entry?.group?.rawValue
  }

  private func key(_ path: String, _ test: TestCache) -> CacheKey {
    CacheKey(url: test.origin.url(path))
  }

  @Test func `A stream is listed as one item, and its entries name it`() async throws {
    try await withCache { test in
      try await fetchAll(test)
      let items = try await test.cache.storedItems()
      let streams = items.compactMap { item -> GroupSummary? in
        if case .group(let stream) = item { stream } else { nil }
      }
      #expect(items.count == 2 && streams.map(\.parts) == [3])
      #expect(streams[0].key == key(Self.manifest, test))
      #expect(streams[0].cachedBytes == 12_000)
      let found = try await test.cache.stream(key(Self.manifest, test))
      #expect(found?.key == streams[0].key && found?.parts == 3 && found?.cachedBytes == 12_000)
      #expect(try await test.cache.stream(key("/0.ts", test)) == nil)
      #expect(try await stream(of: "/0.ts", test) == key(Self.manifest, test).rawValue)
      #expect(try await stream(of: Self.manifest, test) == nil)
      #expect(try await stream(of: "/song.mp3", test) == nil)
    }
  }

  @Test func `A stream without its manifest is removed under the manifest's key`() async throws {
    try await withCache { test in
      try await fetchAll(test)
      #expect(try await test.cache.remove(key(Self.manifest, test)) != nil)
      let removed = try #require(try await test.cache.remove(stream: key(Self.manifest, test)))
      #expect(removed.parts == 3)
      #expect(try await test.cache.entries().map(\.key) == [key("/song.mp3", test)])
    }
  }

  @Test(arguments: ["/1.ts", "/song.mp3"])
  func `Removing a part or another resource leaves the stream`(_ path: String) async throws {
    try await withCache { test in
      try await fetchAll(test)
      let removed = try #require(try await test.cache.remove(stream: key(path, test)))
      #expect(removed.parts == 0)
      #expect(try await test.cache.entries().count == 4)
    }
  }

  @Test func `A part in use is removed, and its reader continues`() async throws {
    try await withCache { test in
      try await fetchAll(test)
      let reader = try await test.cache.open(resource("/1.ts", test))
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 3000, alignment: 1)
      defer { buffer.deallocate() }
      #expect(try await reader.read(into: buffer, at: 0) > 0)
      #expect(try await test.cache.remove(stream: key(Self.manifest, test))?.parts == 3)
      var offset = 0
      while case let count = try await reader.read(into: buffer, at: Int64(offset)), count > 0 {
        offset += count
      }
      #expect(offset == 3000)
      reader.cancel()
      #expect(try await test.cache.stream(key(Self.manifest, test)) == nil)
    }
  }

  @Test func `An entry without a stream gets one with its next record`() async throws {
    try await withCache { test in
      serve(["/0.ts"], test, [Field("Cache-Control", "no-cache")])
      try await test.cache.prefetch(resource("/0.ts", in: nil, test))
      #expect(try await stream(of: "/0.ts", test) == nil)
      let reader = try await test.cache.open(resource("/0.ts", test))
      #expect(reader.group == key(Self.manifest, test))
      _ = try await reader.contentInformation()
      reader.cancel()
      // Opened by itself, it stays a part.
      _ = try await test.read("/0.ts")
      await test.cache.close()
      let stored = StoredBytes(test.directory, test.origin.url("/0.ts")).directory
      #expect(try stored.loadRecord().record.group == key(Self.manifest, test).rawValue)
    }
  }

  @Test func `A playlist that another one names moves there at once`() async throws {
    try await withCache { test in
      serve(
        ["/low.m3u8", "/0.ts", "/1.ts", Self.manifest], test,
        [Field("Cache-Control", "max-age=900")])
      try await test.cache.prefetch(resource("/low.m3u8", in: "/low.m3u8", test))
      for path in ["/0.ts", "/1.ts"] {
        try await test.cache.prefetch(resource(path, in: "/low.m3u8", test))
      }
      #expect(try await test.cache.stream(key("/low.m3u8", test))?.parts == 2)
      try await test.cache.prefetch(resource(Self.manifest, test))
      let reader = try await test.cache.open(resource("/low.m3u8", test))
      _ = try await reader.contentInformation()
      reader.cancel()
      #expect(try await test.cache.stream(key(Self.manifest, test))?.parts == 1)
      #expect(test.origin.log("/low.m3u8").requests.count == 1)
      #expect(try await test.cache.remove(stream: key(Self.manifest, test))?.parts == 1)
      // Segments from before stay parts of what was opened then.
      #expect(try await test.cache.stream(key("/low.m3u8", test))?.parts == 2)
      #expect(try await test.cache.remove(stream: key("/low.m3u8", test))?.parts == 2)
      #expect(try await test.cache.entries().isEmpty)
    }
  }

  @Test func `A new version of a part stays in its stream`() async throws {
    try await withCache { test in
      serve(["/0.ts"], test, [Field("Cache-Control", "no-cache")])
      try await test.cache.prefetch(resource("/0.ts", test))
      var next = OriginResource.synthetic(seed: 77, length: 5000)
      next.headers = [Field("Cache-Control", "no-cache")]
      test.origin.serve(next, at: "/0.ts")
      #expect(try await test.read("/0.ts").count == 5000)
      await test.cache.close()
      let again = try MediaCache(directory: test.directory, configuration: test.configuration)
      let entry = try await again.entry(for: key("/0.ts", test))
      #expect(entry?.length == 5000 && entry?.group == key(Self.manifest, test))
      await again.close()
    }
  }

  @Test func `Only the owner can read the files of a key`() async throws {
    try await withCache { test in
      serve(["/key"], test)
      try await test.cache.prefetch(resource("/key", isKey: true, test))
      await test.cache.close()
      let entries = test.directory.appending(path: "entries")
      let names = try FileManager.default.subpathsOfDirectory(atPath: entries.path())
      #expect(names.contains { $0.hasSuffix("/entry.json") } && names.count == 4)
      for name in names {
        let file = try FileManager.default.attributesOfItem(
          atPath: entries.appending(path: name).path())
        let mode = try #require(file[.posixPermissions] as? Int)
        let isFile = file[.type] as? FileAttributeType == .typeRegular
        #expect(mode == (isFile ? 0o600 : 0o700), "\(name)")
      }
    }
  }
}
