// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy

/// Many clients of files that change all the time: every byte belongs to the version that the
/// response's ETag names.
@Suite(.timeLimit(.minutes(TestSeed.isSoak ? 12 : TestSeed.minutes(3)))) struct ChangingFilesTests {
  private static let clients = 64
  /// The least number of responses to each client: 240,000 in all, in a long run.
  private static let answers = TestSeed.isSoak ? 240_000 / clients / 2 : 1
  private static let lengths: [Int64] = [3, 4096, 65_537, 300_001, 1_000_003, 2_000_029]

  private struct Counts: Sendable {
    var answers = 0
    var cut = 0
    var refused = 0
    var versions: Set<String> = []
  }

  @Test(arguments: [true, false])
  func `No response mixes bytes of two versions`(_ isShared: Bool) async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (changing files)")
    try await Caching.withEither(isShared: isShared) { test async throws in
      for index in Self.lengths.indices { Self.change(index, to: UInt64(index), test.origin) }
      let end = ContinuousClock.now + .seconds(2)
      let changing = Task {
        var random = SeededGenerator(seed: seed &- 1)
        while !Task.isCancelled {
          // Nothing waits for this: it only paces the changes.
          try await Task.sleep(for: .milliseconds(20 + Int(random.next() % 200)))
          Self.change(
            Int(random.next() % UInt64(Self.lengths.count)), to: random.next(), test.origin)
        }
      }
      defer { changing.cancel() }
      let counts = try await withThrowingTaskGroup(of: Counts.self) { group in
        for client in 0..<Self.clients {
          group.addTask { try await Self.client(seed &+ UInt64(client), test, until: end) }
        }
        return try await group.reduce(into: Counts()) { sum, one in
          sum.answers += one.answers
          sum.cut += one.cut
          sum.refused += one.refused
          sum.versions.formUnion(one.versions)
        }
      }
      print(
        "\(counts.answers) answers of \(counts.versions.count) versions, \(counts.cut) cut short, "
          + "\(counts.refused) refused")
      #expect(counts.answers > Self.clients && counts.versions.count > Self.lengths.count)
    }
  }

  private static func change(_ index: Int, to seed: UInt64, _ origin: OriginServer) {
    var resource = OriginResource.synthetic(seed: seed, length: lengths[index])
    resource.etag = "\"\(seed)\""
    if index % 2 == 0 { resource.headers.append(Field("Cache-Control", "max-age=1")) }
    origin.serve(resource, at: "/\(index).mp3")
  }

  private static func client(
    _ seed: UInt64, _ test: TestProxy, until end: ContinuousClock.Instant
  ) async throws -> Counts {
    var random = SeededGenerator(seed: seed)
    var counts = Counts()
    // Each receives several versions, however long that takes.
    while ContinuousClock.now < end || counts.answers < answers
      || counts.versions.count <= lengths.count
    {
      let index = Int(random.next() % UInt64(lengths.count))
      let length = lengths[index]
      let lower = Int64(random.next() % UInt64(length))
      let upper = min(length, lower + 1 + Int64(random.next() % 100_000))
      let isWhole = random.next() % 8 == 0
      let reply = try await test.get(
        "/\(index).mp3", isWhole ? [] : ["Range: bytes=\(lower)-\(upper - 1)"])
      let range = isWhole || reply.status == 200 ? 0..<length : lower..<upper
      guard reply.status == 206 || reply.status == 200 else {
        // A version that was replaced during its request.
        #expect([502, 503, 504].contains(reply.status) || reply.status == 0, "\(reply.status)")
        counts.refused += 1
        continue
      }
      let version = try #require(
        reply["ETag"].flatMap { UInt64($0.trimmingCharacters(in: ["\""])) })
      let expected = SyntheticBytes(seed: version).bytes(in: range)
      #expect(bytes(expected, startWith: reply.body))
      if reply.body.count < expected.count { counts.cut += 1 }
      counts.answers += 1
      counts.versions.insert("\(index) \(version)")
    }
    return counts
  }
}
