// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain
@testable import RefrainStreams

/// Parts of pinned streams that the origin forbids to store: they are stored, but only with a pin.
@Suite(.timeLimit(.minutes(1))) struct StreamPinNoStoreTests {
  private func directory(_ test: TestCache, _ path: String) -> EntryDirectory {
    let key = test.cache.key(for: PinnedStream.resource(test, path))
    return test.cache.budget.entryDirectory(named: KeyHash.name(of: key))
  }

  private func wanted(_ test: TestCache, _ path: String) -> Resource {
    var resource = PinnedStream.resource(test, path)
    resource.policy.group = .init(
      first: test.cache.key(for: PinnedStream.resource(test)), isKept: true)
    return resource
  }

  private func isStored(_ test: TestCache, _ path: String) async throws -> Bool {
    let key = test.cache.key(for: PinnedStream.resource(test, path))
    try await eventually("it is closed") { test.cache.table.isEmpty }
    return try await test.cache.entry(for: key) != nil
  }

  @Test func `A pinned stream is stored although the origin forbids it, and plays offline`()
    async throws
  {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store")
      try await PinnedStream.pin(test)
      #expect(try await PinnedStream.pinned(test) == PinnedStream.paths)
      test.cache.isOffline = true
      for path in PinnedStream.paths { #expect(try await !test.read(path).isEmpty, "\(path)") }
    }
  }

  @Test func `Such a stream without validators is pinned too, and pinned again`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store", hasTags: false)
      for time in ["first", "second"] {
        try await PinnedStream.pin(test)
        try await eventually("all is closed") { test.cache.table.isEmpty }
        let pinned = try await PinnedStream.pinned(test)
        #expect(pinned == PinnedStream.paths, "\(time)")
      }
      // Segments do not change under their URLs.
      let log = try await test.settledLog("/0.ts")
      #expect(log.requests.count == 1)
      test.cache.isOffline = true
      for path in PinnedStream.paths {
        let bytes = try await test.read(path)
        #expect(!bytes.isEmpty, "\(path)")
      }
    }
  }

  @Test func `While the origin answers, it decides on each use of such a part`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store")
      try await PinnedStream.pin(test)
      let stored = try await test.read("/0.ts")
      #expect(try await test.settledLog("/0.ts").requests.count == 2)
      #expect(test.origin.log("/0.ts").requests.last?.request.headers.first("If-None-Match") != nil)
      // Another version is passed on, and the pinned one stays.
      let next = [UInt8](repeating: 1, count: 3000)
      test.origin.serve(
        OriginResource(
          .bytes(next), contentType: "video/mp2t", etag: "\"next\"",
          headers: [Field("Cache-Control", "no-store")]), at: "/0.ts")
      #expect(try await test.read("/0.ts") == next)
      // While it is open, an entry has one version.
      try await eventually("it is closed") { test.cache.table.isEmpty }
      #expect(try await PinnedStream.pinned(test) == PinnedStream.paths)
      test.cache.isOffline = true
      #expect(try await test.read("/0.ts") == stored)
    }
  }

  @Test func `Such parts are removed with the pin`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store")
      try await PinnedStream.pin(test)
      _ = try await StreamDownload(PinnedStream.resource(test), into: test.cache).unpin()
      for path in PinnedStream.paths {
        let entry = try await test.cache.entry(for: PinnedStream.resource(test, path))
        #expect(entry == nil, "\(path)")
      }
    }
  }

  @Test(arguments: ["no-store", "max-age=3600"])
  func `Unpinning continues after a failure, and another call does the rest`(
    _ control: String
  ) async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin, control)
      try await PinnedStream.pin(test)
      try await eventually("all is closed") { test.cache.table.isEmpty }
      let disk = WatchedDisk()
      let cache = try MediaCache(
        directory: test.directory, configuration: test.configuration, disk: disk)
      let download = StreamDownload(PinnedStream.resource(test), into: cache)
      let (isForbidden, failing) = (control == "no-store", directory(test, "/0.ts").path)
      disk.fail { operation, path in
        guard operation == .remove, path.hasPrefix(failing) else { return nil }
        // The pin is lifted, and then the files cannot be removed.
        return isForbidden && path.hasSuffix("/pinned") ? nil : EPERM
      }
      await #expect(throws: MediaCacheError.self) { try await download.unpin() }
      // The manifests name the rest.
      let rest = ["/main.m3u8", "/list.m3u8"] + (isForbidden ? [] : ["/0.ts"])
      #expect(try await PinnedStream.pinned(test) == rest)
      #expect(try await test.cache.entry(for: PinnedStream.resource(test, "/0.ts")) != nil)
      disk.fail(nil)
      #expect(try await download.unpin() == rest.count)
      #expect(try await PinnedStream.pinned(test).isEmpty)
      for path in PinnedStream.paths {
        let entry = try await test.cache.entry(for: PinnedStream.resource(test, path))
        #expect((entry == nil) == isForbidden, "\(path)")
      }
      await cache.close()
    }
  }

  @Test func `A cache for several people obeys the origin`() async throws {
    try await withCache({ $0.isShared = true }) { test in
      PinnedStream.serve(test.origin, "no-store")
      var resource = PinnedStream.resource(test)
      let key = test.cache.key(for: resource)
      resource.policy.group = .init(first: key, isKept: true)
      let reader = try await test.cache.open(resource)
      for try await _ in reader.chunks() {}
      reader.cancel()
      try await eventually("it is closed") { test.cache.table.isEmpty }
      #expect(try await test.cache.entry(for: PinnedStream.resource(test)) == nil)
    }
  }

  @Test func `Without a pin, nothing stays of what a reader wanted to keep`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store")
      try await test.cache.prefetch(wanted(test, "/0.ts"))
      #expect(try await !isStored(test, "/0.ts"))
    }
  }

  @Test func `A refused stream leaves neither pins nor files`() async throws {
    for control in ["no-store", "max-age=3600"] {
      // 8 Mbit/s for 8 seconds.
      try await withCache({ $0.limit = 4 << 20 }) { test in
        PinnedStream.serve(test.origin, control)
        await #expect(throws: MediaCacheError.self) { try await PinnedStream.pin(test) }
        let isListStored = try await isStored(test, "/list.m3u8")
        #expect(!isListStored)
      }
    }
  }

  @Test func `What a killed process left without a pin is not used`() async throws {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store")
      try await PinnedStream.pin(test)
      try await eventually("all is closed") { test.cache.table.isEmpty }
      #expect(try directory(test, "/0.ts").unpin())
      test.cache.isOffline = true
      await #expect(throws: MediaCacheError.self) { try await test.read("/0.ts") }
      #expect(try await test.read("/1.ts").count == 3000)
      test.cache.isOffline = false
      #expect(try await test.read("/0.ts").count == 3000)
      let last = try await test.settledLog("/0.ts").requests.last
      #expect(last?.request.headers.first("If-None-Match") == nil)
      #expect(try await !isStored(test, "/0.ts"))
    }
  }

  @Test func `An entry that loses its pin while it is open is removed, and stores no more`()
    async throws
  {
    try await withCache { test in
      PinnedStream.serve(test.origin, "no-store")
      try await PinnedStream.pin(test)
      // As another process does it.
      let other = try await test.cache.open(wanted(test, "/1.ts"))
      #expect(try directory(test, "/1.ts").unpin())
      other.cancel()
      #expect(try await !isStored(test, "/1.ts"))
      let reader = try await test.cache.open(wanted(test, "/0.ts"))
      #expect(try await reader.contentInformation().length == 3000)
      _ = try await test.cache.unpin(PinnedStream.resource(test, "/0.ts"))
      #expect(reader.generation.withState(\.isForbidden))
      reader.cancel()
      #expect(try await !isStored(test, "/0.ts"))
    }
  }
}
