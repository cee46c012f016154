// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy

/// Readers and clients of an origin with every reported kind of careless response, mixed at random.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct UnusualOriginTests {
  private static let paths = 6
  /// Some of what comes out is the proxy's own: an error, or the relayed error of the origin.
  private static let errors: ClosedRange<Int> = 400...599

  @Test func `No reader and no client receives a wrong byte, and everything ends`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (unusual origin)")
    let answers = TestSeed.isSoak ? 10_000 : 1500
    let origin = UnusualOrigin(seed: seed)
    let server = try RawServer { origin.serve($0) }
    defer { server.stop() }
    try await withProxy(cache: {
      $0.retry.attempts = 3
      $0.retry.cutAttempts = 3
      $0.retry.firstAttempts = 3
    }) { test in
      let run = Run(seed: seed, origin: origin, server: server, test: test)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for actor in 0..<8 {
          let random = SeededGenerator(seed: seed &+ UInt64(actor))
          group.addTask {
            actor < 4
              ? try await run.read(random, until: answers)
              : try await run.ask(random, until: answers)
          }
        }
        try await group.waitForAll()
      }
      origin.behave()
      try await run.readAll()
      print("\(origin.answers) responses, \(run.counts)")
    }
  }

  private final class Run: Sendable {
    let seed: UInt64
    let origin: UnusualOrigin
    let server: RawServer
    let test: TestProxy
    private let steps = Mutex<[String: Int]>([:])

    init(seed: UInt64, origin: UnusualOrigin, server: RawServer, test: TestProxy) {
      self.seed = seed
      self.origin = origin
      self.server = server
      self.test = test
    }

    var counts: [String: Int] { steps.withLock { $0 } }

    private func note(_ step: String) { steps.withLock { $0[step, default: 0] += 1 } }

    private func path(_ random: inout SeededGenerator) -> String {
      let kind = UnusualOrigin.Kind.allCases.randomElement(using: &random) ?? .steady
      return UnusualOrigin.path(kind, random.number(below: UnusualOriginTests.paths))
    }

    private func range(_ random: inout SeededGenerator) -> Range<Int>? {
      guard random.chance(2, in: 3) else { return nil }
      let start = random.number(below: 60_000)
      return start..<(start + 1 + random.number(below: 40_000))
    }

    /// Reads ranges, several with each reader, whose bytes are all of one version.
    func read(_ generator: SeededGenerator, until answers: Int) async throws {
      var random = generator
      while origin.answers < answers {
        let path = path(&random)
        let resource = Resource(url: try server.url(path))
        if random.chance(1, in: 3) {
          do { try await test.cache.remove(test.cache.key(for: resource)) } catch let error
            as MediaCacheError where error.code == .inUse
          {}
        }
        do {
          let reader = try await test.cache.open(
            resource, fill: random.chance(1, in: 4) ? .wholeResource : .onDemand)
          defer { reader.cancel() }
          var possible: [UnusualOrigin.Version]?
          for _ in 0..<(1 + random.number(below: 4)) {
            let range = range(&random)
            var received: [UInt8] = []
            defer {
              let fitting = fitting(received, at: range?.lowerBound ?? 0, path, possible, "reader")
              if !received.isEmpty { possible = fitting }
            }
            let wanted = range.map { Int64($0.lowerBound)..<Int64($0.upperBound) }
            for try await chunk in reader.chunks(in: wanted) { received += chunk }
            note("read")
          }
        } catch let error as MediaCacheError {
          note("read: \(error.code)")
        }
      }
    }

    /// Returns the versions of which the bytes may be; there must be one.
    private func fitting(
      _ received: [UInt8], at offset: Int, _ path: String,
      _ possible: [UnusualOrigin.Version]?, _ receiver: String
    ) -> [UnusualOrigin.Version] {
      let candidates = possible ?? origin.versions(path)
      guard !received.isEmpty else { return candidates }
      let fitting = candidates.filter { $0.has(received, at: offset) }
      if fitting.isEmpty {
        let right = candidates.map { Self.equal(received, $0, at: offset) }
        Issue.record(
          """
          seed \(seed): a \(receiver) of \(path) received \(received.count) bytes at \(offset), \
          the first wrong one at \(offset + (right.max() ?? 0)); versions: \(candidates.count)
          """)
        return candidates
      }
      return fitting
    }

    /// The number of bytes up to the first that is not the version's.
    private static func equal(
      _ received: [UInt8], _ version: UnusualOrigin.Version, at offset: Int = 0
    ) -> Int {
      zip(version.body(0..<version.length).dropFirst(offset), received)
        .prefix { $0 == $1 }.count
    }

    /// Sends requests to the proxy.
    func ask(_ generator: SeededGenerator, until answers: Int) async throws {
      var random = generator
      while origin.answers < answers {
        let path = path(&random)
        let range = range(&random)
        let fields = range.map { ["Range: bytes=\($0.lowerBound)-\($0.upperBound - 1)"] } ?? []
        let url = try test.proxy.url(for: server.url(path)).absoluteString
        let target = String(url.dropFirst("http://\(test.host)".count))
        let reply = try await test.reply(to: target, fields)
        note("\(reply.status)")
        checkHead(reply, path)
        switch reply.status {
        case 206: _ = fitting(reply.body, at: range?.lowerBound ?? 0, path, nil, "client")
        case 200, 203: _ = fitting(reply.body, at: 0, path, nil, "client")
        case 302, 416, 501, UnusualOriginTests.errors: break
        default: Issue.record("seed \(seed): \(path) received \(reply.status)")
        }
      }
    }

    /// The head that a client receives has none of the origin's flaws.
    private func checkHead(_ reply: Reply, _ path: String) {
      let token = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/
      for field in reply.fields {
        let isClean = !field.value.unicodeScalars.contains { $0.value < 32 || $0.value == 127 }
        if field.name.wholeMatch(of: token) == nil || !isClean {
          Issue.record("seed \(seed): \(path) was sent with the field \(field)")
        }
      }
      let lengths = reply.fields.filter { $0.name.lowercased() == "content-length" }
      let isChunked = reply["Transfer-Encoding"] != nil
      if lengths.count + (isChunked ? 1 : 0) > 1
        || lengths.contains(where: { Int($0.value) == nil })
      {
        Issue.record("seed \(seed): \(path) was framed by \(lengths) and chunked: \(isChunked)")
      }
    }

    /// Once the origin is as it should be, every resource is read whole.
    func readAll() async throws {
      for kind in UnusualOrigin.Kind.allCases {
        for index in 0..<UnusualOriginTests.paths {
          let path = UnusualOrigin.path(kind, index)
          let reader = try await test.cache.open(Resource(url: try server.url(path)))
          defer { reader.cancel() }
          var received: [UInt8] = []
          for try await chunk in reader.chunks() { received += chunk }
          // Where each response is another version, that of a moment ago still plays, though a client
          // has caused a later one since.
          let versions = origin.versions(path)
          let isWhole = versions.suffix(kind == .inserted ? versions.count : 1).contains {
            $0.length == received.count && $0.has(received, at: 0)
          }
          #expect(
            isWhole,
            """
            seed \(seed): \(path) after the faults has \(received.count) bytes; equal to those of the \
            versions, and their lengths: \(versions.map { (Self.equal(received, $0), $0.length) })
            """)
        }
      }
    }
  }
}
