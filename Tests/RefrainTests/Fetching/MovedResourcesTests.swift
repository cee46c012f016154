// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Where a redirect leads by now is told to those alone who may have received it.
@Suite(.timeLimit(.minutes(1)))
struct MovedResourcesTests {
  @Test(arguments: [[:], ["Authorization": "Bearer mine"]] as [HeaderFields])
  func `Other credentials do not receive the new place`(_ fields: HeaderFields) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let cache = try MediaCache(
      directory: directory,
      configuration: TestCache.configuration {
        $0.transport = MemoryTransport(seed: 1, length: 10)
      })
    let start = try #require(URL(string: "http://origin.test/list.m3u8"))
    let earlier = try #require(URL(string: "http://origin.test/one/list.m3u8"))
    let target = try #require(URL(string: "http://origin.test/two/list.m3u8"))
    cache.context.movedResources.note(
      Resource(url: start, headers: fields), from: earlier, to: target)
    let isPublic = fields.isEmpty
    for others in [[], [["Authorization": "Bearer yours"]]] as [[HeaderFields]] {
      let told = await cache.relocate(from: earlier, for: others)
      #expect(told == (isPublic ? target : nil))
    }
    let own = await cache.relocate(from: earlier, for: [fields])
    #expect(own == target)
    await cache.close()
  }
}
