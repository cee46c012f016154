// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy

/// Random clients of a proxy that is restarted again and again on one directory, checked against
/// the origin's bytes.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct ProxyModelTests {
  @Test func `Every byte is correct despite random clients and origin faults`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (proxy model with faults)")
    for round in 0..<(TestSeed.isSoak ? 100 : 1) as Range<UInt64> {
      try await ProxyModelRun(seed: seed &+ round, hasFaults: true).run(lives: 3)
    }
  }

  @Test func `The origin sends each byte once if there are no faults`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (proxy model without faults)")
    for round in 0..<(TestSeed.isSoak ? 50 : 1) as Range<UInt64> {
      try await ProxyModelRun(seed: seed &+ round, hasFaults: false).run(lives: 3)
    }
  }
}

/// One origin and one directory through several lifetimes of a proxy. The seed determines each
/// client's actions; the machine determines their order.
final class ProxyModelRun: Sendable {
  private static let lengths: [Int64] = [700_001, 1_500_003, 65_536, 2_200_019]

  let seed: UInt64
  let hasFaults: Bool
  private let received = Mutex<[CacheKey: Int64]>([:])

  init(seed: UInt64, hasFaults: Bool) {
    self.seed = seed
    self.hasFaults = hasFaults
  }

  private func path(_ index: Int) -> String { "/media/\(index).mp3" }

  private func bytes(_ index: Int) -> SyntheticBytes {
    SyntheticBytes(seed: seed &* 1000 &+ UInt64(index))
  }

  func run(lives: Int) async throws {
    try await withSuccession { origin, directory in
      try await run(lives: lives, origin, directory)
    }
  }

  private func run(lives: Int, _ origin: OriginServer, _ directory: URL) async throws {
    for (index, length) in Self.lengths.enumerated() {
      var resource = OriginResource.synthetic(seed: bytes(index).seed, length: length)
      if index == 1 { resource.headers.append(Field("Cache-Control", "max-age=3600")) }
      if hasFaults, index == 3 { resource.supportsRanges = false }
      origin.serve(resource, at: path(index))
    }
    var random = SeededGenerator(seed: seed)
    for life in 0..<lives {
      if hasFaults {
        for index in Self.lengths.indices {
          origin.script(path(index), .random(seed: random.next(), requests: 40))
        }
      }
      let clients = (0..<8).map { _ in plan(&random) }
      try await live(clients, directory, origin, life)
    }
    if !hasFaults { try await checkEconomy(origin, directory) }
  }

  private func live(
    _ clients: [[ModelClient]], _ directory: URL, _ origin: OriginServer, _ life: Int
  ) async throws {
    try await withProxy(
      directory: directory, origin: origin,
      cache: { configuration in
        // Where two requests meet, the overlap that one has already fetched would come twice.
        if !hasFaults { configuration.joinPatience = .seconds(1000) }
        if hasFaults {
          configuration.retry.attempts = 40
          configuration.retry.cutAttempts = 40
          configuration.retry.firstAttempts = 40
        }
      }
    ) { test in
      let counting = count(test.cache.events(includingTraffic: true))
      let (port, host) = (test.port, test.host)
      let targets = try Self.lengths.indices.map { try test.target(path($0)) }
      // An error in the origin's first response is relayed, which the model cannot distinguish from
      // a wrong response.
      for index in Self.lengths.indices {
        for _ in 0..<50 where try await test.get(path(index), ["Range: bytes=0-0"]).status != 206 {}
      }
      try await withThrowingTaskGroup(of: String?.self) { group in
        for connections in clients {
          group.addTask {
            for connection in connections {
              let wrong = try await onThread {
                connection.run(port: port, host: host, targets: targets)
              }
              if let wrong { return wrong }
            }
            return nil
          }
        }
        for try await wrong in group {
          if let wrong { Issue.record("seed \(seed), life \(life): \(wrong)") }
        }
      }
      try await eventually("nobody is connected") { test.proxy.connectionCount == 0 }
      for index in Self.lengths.indices { _ = try await test.settledLog(path(index)) }
      await test.cache.close()
      await counting.value
    }
  }

  /// Counts the received bytes until the cache is closed.
  private func count(_ events: AsyncStream<CacheEvent>) -> Task<Void, Never> {
    Task {
      for await event in events {
        guard case .received(let key, let count) = event else { continue }
        received.withLock { $0[key, default: 0] += Int64(count) }
      }
    }
  }

  // MARK: Clients

  private func plan(_ random: inout SeededGenerator) -> [ModelClient] {
    (0..<6).map { _ in
      let count = random.number(below: 4) == 0 ? 8 : 1 + random.number(below: 3)
      let requests = (0..<count).map { _ in request(&random) }
      return ModelClient(
        requests: requests, isPipelined: random.number(below: 2) == 0,
        leavesAfter: random.number(below: 3) == 0 ? random.number(below: 300_000) : nil,
        resets: random.number(below: 2) == 0)
    }
  }

  private func request(_ random: inout SeededGenerator) -> ModelClient.Request {
    let index = random.number(below: Self.lengths.count)
    let length = Self.lengths[index]
    let lower = Int64(random.number(below: Int(length)))
    let upper = min(length, lower + 1 + Int64(random.number(below: 300_000)))
    let range: ByteRange
    let field: String?
    switch random.number(below: 6) {
    case 0: (range, field) = (0..<length, nil)
    case 1: (range, field) = (lower..<length, "bytes=\(lower)-")
    case 2: (range, field) = (lower..<length, "bytes=-\(length - lower)")
    default: (range, field) = (lower..<upper, "bytes=\(lower)-\(upper - 1)")
    }
    return ModelClient.Request(
      index: index, range: range, field: field, bytes: bytes(index))
  }

  // MARK: The origin

  /// Checks that every byte came once: all received bytes are stored. Bytes in flight without a
  /// reader never arrived.
  private func checkEconomy(_ origin: OriginServer, _ directory: URL) async throws {
    let cache = try MediaCache(directory: directory)
    for index in Self.lengths.indices {
      let key = CacheKey(url: origin.url(path(index)))
      let stored = try await cache.entry(for: key)?.cachedBytes ?? 0
      let log = origin.log(path(index)).requests.map {
        "\($0.request.range ?? "-") \($0.bodyBytesSent)"
      }
      #expect(
        received.withLock { $0[key] ?? 0 } == stored, "seed \(seed), \(path(index)): \(log)")
    }
    await cache.close()
  }
}

/// One client's actions on one connection.
struct ModelClient: Sendable {
  struct Request: Sendable {
    var index: Int
    var range: ByteRange
    var field: String?
    var bytes: SyntheticBytes
  }

  var requests: [Request]
  var isPipelined: Bool
  /// The number of bytes of the last response that are read before the connection is closed, as by
  /// a player that jumps.
  var leavesAfter: Int?
  var resets: Bool

  /// - Returns: the error found, or nil.
  func run(port: Int, host: String, targets: [String]) -> String? {
    do {
      let client = try PlainSocket(port: port, patience: 100_000)
      let texts = requests.map { request in
        "GET \(targets[request.index]) HTTP/1.1\r\nHost: \(host)\r\n"
          + (request.field.map { "Range: \($0)\r\n" } ?? "") + "\r\n"
      }
      if isPipelined { try client.send(texts.joined()) }
      for (number, request) in requests.enumerated() {
        if !isPipelined { try client.send(texts[number]) }
        let isLast = number == requests.count - 1
        let size = Int(request.range.upperBound - request.range.lowerBound)
        let count = isLast ? min(size, leavesAfter ?? size) : size
        if let wrong = try read(count, of: request, from: client) { return "\(number): \(wrong)" }
      }
      if resets { client.reset() } else { client.close() }
      return nil
    } catch {
      return "\(error): \(self)"
    }
  }

  private func read(
    _ count: Int, of request: Request, from client: PlainSocket
  ) throws -> String? {
    let text = try client.receiveHead()
    let status = request.field == nil ? "200" : "206"
    let size = request.range.upperBound - request.range.lowerBound
    guard text.hasPrefix("HTTP/1.1 \(status) "), text.contains("\r\nContent-Length: \(size)\r\n")
    else { return "\(request): \(text.debugDescription)" }
    let body = try client.receive(exactly: count)
    let lower = request.range.lowerBound
    guard areEqual(body, request.bytes.bytes(in: lower..<lower + Int64(count))) else {
      return "\(body.count) of \(count) bytes, or wrong ones: \(request)"
    }
    return nil
  }
}
