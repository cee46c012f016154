// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Entries that are listed, pinned and removed together.
@Suite(.timeLimit(.minutes(1))) struct GroupTests {
  private static let parts = ["/film", "/sound", "/titles"]

  private func resource(_ path: String, _ test: TestCache) -> Resource {
    var resource = Resource(url: test.origin.url(path))
    resource.policy.group = ResourcePolicy.Group(first: key("/film", test))
    return resource
  }

  private func key(_ path: String, _ test: TestCache) -> CacheKey {
    CacheKey(url: test.origin.url(path))
  }

  private func store(_ test: TestCache) async throws {
    for path in Self.parts + ["/song"] {
      test.origin.serve(.synthetic(seed: 1, length: 5000), at: path)
    }
    for path in Self.parts { try await test.cache.prefetch(resource(path, test)) }
    try await test.cache.prefetch(test.origin.url("/song"))
  }

  @Test func `A group is one item`() async throws {
    try await withCache { test in
      try await store(test)
      let items = try await test.cache.storedItems()
      #expect(items.count == 2)
      let group = try #require(try await test.cache.group(key("/film", test)))
      #expect(group.parts == 2 && group.cachedBytes == 15_000)
      #expect(group.first?.key == key("/film", test))
      #expect(try await test.cache.group(key("/song", test)) == nil)
    }
  }

  @Test func `A later process knows the group`() async throws {
    try await withCache { test in
      try await store(test)
      await test.cache.close()
      let again = try MediaCache(directory: test.directory, configuration: test.configuration)
      #expect(try await again.group(key("/film", test))?.parts == 2)
      await again.close()
    }
  }

  @Test func `A group is pinned once all of it is`() async throws {
    try await withCache { test in
      try await store(test)
      for (index, path) in Self.parts.enumerated() {
        try await test.cache.pin(key(path, test))
        let group = try #require(try await test.cache.group(key("/film", test)))
        #expect(group.isPinned == (index == 2) && group.isPartlyPinned == (index < 2))
      }
    }
  }

  @Test func `A group is removed together`() async throws {
    try await withCache { test in
      try await store(test)
      let removed = try #require(try await test.cache.remove(group: key("/film", test)))
      #expect(removed.parts == 2 && removed.freedBytes >= 15_000)
      #expect(try await test.cache.entries().map(\.key) == [key("/song", test)])
      #expect(try await test.cache.remove(group: key("/song", test))?.parts == 0)
    }
  }

  @Test func `A shared cache stores no secret`() async throws {
    try await withCache({ $0.isShared = true }) { test in
      var secret = OriginResource.synthetic(seed: 1, length: 16)
      secret.headers.append(Field("Cache-Control", "public, max-age=3600"))
      test.origin.serve(secret, at: "/secret")
      var resource = resource("/secret", test)
      resource.policy.group?.isSecret = true
      let reader = try await test.cache.open(resource)
      for try await _ in reader.chunks(in: nil) {}
      reader.cancel()
      try await eventually("it is closed") { test.cache.table.isEmpty }
      #expect(try await test.cache.entries().isEmpty)
    }
  }

  @Test func `An entry of the earlier format is fetched again`() async throws {
    try await withCache { test in
      try await store(test)
      let directory = StoredBytes(test.directory, test.origin.url("/song")).directory
      await test.cache.close()
      var record = try directory.loadRecord().record
      record.version = 1
      try directory.write(record, durably: false)
      let again = try MediaCache(directory: test.directory, configuration: test.configuration)
      let events = again.events()
      try await again.prefetch(test.origin.url("/song"))
      #expect(try await test.settledLog("/song").requests.count == 2)
      await again.close()
      var warnings: [String] = []
      for await case .warning(let text) in events { warnings.append(text) }
      #expect(warnings.contains { $0.contains("its record is damaged") })
    }
  }
}
