// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Random operations under a clock that is set forward and back: however it jumps, nothing is
/// served for longer than the origin allowed, and versions are never mixed.
@Suite(.timeLimit(.minutes(5))) struct ClockModelTests {
  @Test func `A clock jump never makes a stale response look fresh`() async throws {
    let seed = TestSeed.next()
    print("ClockModelTests: REFRAIN_SEED=\(seed)")
    for round in 0..<(TestSeed.isSoak ? 100 : 5) as Range<UInt64> {
      try await ClockModelRun(seed: seed &+ round).run(steps: 120)
    }
  }
}

/// One origin whose resources change, one cache that is sometimes reopened, one reader at a time.
private final class ClockModelRun {
  /// How a resource is served, and for how many seconds an old version may be served.
  private struct Kind {
    var path: String
    var control: String?
    var type = "application/octet-stream"
    var isList = false
    var allowance: Double
  }

  private static let kinds = [
    Kind(path: "/max-age", control: "max-age=60", allowance: 60),
    Kind(path: "/short", control: "max-age=2", allowance: 2),
    Kind(path: "/no-cache", control: "no-cache", allowance: 0),
    Kind(path: "/silent", type: "text/plain", allowance: 0),
    Kind(path: "/media", type: "audio/mpeg", allowance: 10),
    Kind(path: "/live", control: "max-age=600", type: "text/list", isList: true, allowance: 2),
  ]

  private let seed: UInt64
  private var random: SeededGenerator
  private let time = TestClock()
  /// The versions of each kind, with their start times.
  private var versions: [[(bytes: [UInt8], begun: Double)]] = kinds.map { _ in [] }

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
  }

  private func change(_ index: Int, _ origin: OriginServer) {
    let kind = Self.kinds[index]
    let number = versions[index].count
    let bytes =
      kind.isList
      ? Array("list \(number) 4".utf8)
      : SyntheticBytes(seed: seed &* 1000 &+ UInt64(number)).bytes(in: 0..<3000)
    versions[index].append((bytes, time.passed))
    var resource = OriginResource(.bytes(bytes), contentType: kind.type, etag: "\"\(number)\"")
    if let control = kind.control { resource.headers = [Field("Cache-Control", control)] }
    origin.serve(resource, at: kind.path)
    // The origin's clock does not jump, and its Date would reveal the jumps.
    origin.script(kind.path, .on(.all, .header("Date", nil)))
  }

  func run(steps: Int) async throws {
    let configure: (inout MediaCache.Configuration) -> Void = { [time] in
      $0.clock = time.now
      $0.policy = ResourcePolicy(documents: ListRules())
    }
    try await withCache(configure) { test in
      for index in Self.kinds.indices { change(index, test.origin) }
      for _ in 0..<4 {
        try await test.reopened(configure) { test in
          for _ in 0..<(steps / 4) { try await step(test, test.origin) }
        }
      }
    }
  }

  private func step(_ test: TestCache, _ origin: OriginServer) async throws {
    let index = Int.random(in: 0..<Self.kinds.count, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: change(index, origin)
    case 1: time.pass([0.3, 1, 5, 30, 100].randomElement(using: &random) ?? 1)
    case 2:
      let jump = [-100_000.0, -61, -30, -5, -0.5, 0.5, 5, 61, 100_000].randomElement(using: &random)
      time.set(forwardBy: jump ?? 1)
    default: try await read(index, test)
    }
  }

  private func read(_ index: Int, _ test: TestCache) async throws {
    let kind = Self.kinds[index]
    let reader = try await test.cache.open(Resource(url: test.origin.url(kind.path)), on: .ofClient)
    defer { reader.cancel() }
    let bytes = Array(try await reader.bytes(in: 0..<10_000))
    guard let version = versions[index].lastIndex(where: { $0.bytes == bytes }) else {
      Issue.record("seed \(seed): what came of \(kind.path) is no version of it")
      return
    }
    guard version + 1 < versions[index].count else { return }
    let replaced = versions[index][version + 1].begun
    let age = time.passed - replaced
    #expect(
      age <= kind.allowance,
      "seed \(seed): \(kind.path) was replaced \(age) s ago, and is given all the same")
  }
}
