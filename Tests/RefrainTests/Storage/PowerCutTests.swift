// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import Testing

@testable import Refrain

/// Promise 4: after a power cut at any instant, no byte is wrong, and at most 4 MiB or 2 seconds of
/// the received bytes are lost.
@Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
struct PowerCutTests {
  private static let seeds = TestSeed.isSoak ? 200 : 4
  private static let url = URL(string: "http://origin.test/tune.wav")

  @Test func `A power cut leaves no wrong byte and loses little`() async throws {
    let first = UInt64.random(in: 0..<1 << 32)
    print("aPowerCutGivesNoWrongByteAndTakesLittle: seeds from \(first)")
    for seed in first..<first + UInt64(Self.seeds) {
      var random = SeededGenerator(seed: seed)
      let run = try PowerCutRun(seed: seed, limit: nil, &random)
      defer { run.removeFiles() }
      let url = try #require(Self.url)
      let transport = run.transport(seed: seed, length: .random(in: 1...9 << 20, using: &random))
      let cache = try run.cache(transport)
      if seed.isMultiple(of: 2) {
        try await cache.prefetch(Resource(url: url))
      } else {
        let starts = (0..<3).map { _ in Int64.random(in: 0..<transport.length, using: &random) }
        try await run.read(url, from: starts, cache, transport)
      }
      await cache.close()
      run.cut()
      for (index, cut) in run.cuts.enumerated() {
        for die in 0..<3 {
          let copy = try run.materialise(cut, &random)
          defer { try? FileManager.default.removeItem(at: copy) }
          let stored = StoredBytes(copy, url, bootIdentity: "after the cut")
          let spans = stored.usableSpans()
          #expect(try stored.firstWrongByte(transport.bytes) == nil, "seed \(seed)")
          let lost = cut.lost(spans)
          #expect(lost.all <= 4 << 20 || lost.old == 0, "seed \(seed): \(lost)")
          // The cache was closed before the last cut.
          if index == run.cuts.count - 1 { #expect(lost.all == 0, "seed \(seed)") }
          guard die == 0 else { continue }
          // Playback continues, and stored bytes are not fetched again.
          let origin = MemoryTransport(seed: seed, length: transport.length)
          let cache = try run.reopened(copy, origin)
          let reader = try await cache.open(Resource(url: url))
          let all = try await reader.bytes(in: 0..<transport.length)
          #expect([UInt8](all) == transport.bytes.bytes(in: 0..<transport.length), "seed \(seed)")
          #expect(origin.received.intersection(spans).byteCount == 0, "seed \(seed)")
          reader.cancel()
          await cache.close()
        }
      }
    }
  }

  @Test func `Eviction with power cuts leaves no wrong byte`() async throws {
    let first = UInt64.random(in: 0..<1 << 32)
    print("evictionAndPowerCutsTogetherGiveNoWrongByte: seeds from \(first)")
    for seed in first..<first + UInt64(Self.seeds / 2) {
      var random = SeededGenerator(seed: seed)
      let run = try PowerCutRun(seed: seed, limit: 5 << 20, &random)
      defer { run.removeFiles() }
      let urls = (0..<4).compactMap { URL(string: "http://origin.test/\($0).wav") }
      let transport = run.transport(seed: seed, length: 3 << 20)
      let cache = try run.cache(transport)
      for _ in 0..<6 {
        guard let url = urls.randomElement(using: &random) else { continue }
        let start = Int64.random(in: 0..<1 << 20, using: &random)
        let end = Int64.random(in: start..<3 << 20, using: &random)
        try await cache.prefetch(Resource(url: url), range: start..<end)
      }
      await cache.close()
      run.cut()
      for cut in run.cuts {
        let copy = try run.materialise(cut, &random)
        defer { try? FileManager.default.removeItem(at: copy) }
        for url in urls {
          let stored = StoredBytes(copy, url, bootIdentity: "after the cut")
          #expect(try stored.firstWrongByte(transport.bytes) == nil, "seed \(seed)")
        }
      }
    }
  }

  @Test func `A power cut never mixes the bytes of two generations`() async throws {
    let first = UInt64.random(in: 0..<1 << 32)
    print("anotherGenerationAndAPowerCutAreNeverMixed: seeds from \(first)")
    let url = try #require(Self.url)
    for seed in first..<first + UInt64(Self.seeds / 2) {
      var random = SeededGenerator(seed: seed)
      let run = try PowerCutRun(seed: seed, limit: nil, &random)
      defer { run.removeFiles() }
      for generation in 0..<3 as Range<UInt64> {
        let cache = try run.cache(run.transport(seed: seed + generation, length: 3 << 20))
        try await cache.prefetch(Resource(url: url), range: Int64(generation) << 20..<3 << 20)
        await cache.close()
      }
      run.cut()
      for cut in run.cuts {
        let copy = try run.materialise(cut, &random)
        defer { try? FileManager.default.removeItem(at: copy) }
        let stored = StoredBytes(copy, url, bootIdentity: "after the cut")
        guard let etag = stored.etag, let generation = UInt64(etag.filter(\.isNumber)) else {
          continue
        }
        #expect(
          try stored.firstWrongByte(SyntheticBytes(seed: generation)) == nil, "seed \(seed)")
      }
    }
  }

  /// A burst that ends is synced without a further byte.
  @Test func `Bytes received in a burst are synced even if no more follow`() async throws {
    var random = SeededGenerator(seed: 1)
    let run = try PowerCutRun(seed: 1, limit: nil, &random)
    defer { run.removeFiles() }
    let url = try #require(Self.url)
    let (pause, resume) = AsyncStream<Void>.makeStream()
    let length: Int64 = 16 << 20
    let transport = MemoryTransport(seed: 1, length: length) { chunk in
      guard chunk.upperBound > length - (1 << 20) else { return }
      for await _ in pause {}
    }
    let (operations, tick) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let disk = PowerCutDisk { _ in tick.yield() }
    let cache = try MediaCache(
      directory: run.directory, configuration: run.configuration(transport), disk: disk)
    let prefetch = Task { try await cache.prefetch(Resource(url: url)) }
    for await _ in operations {
      guard transport.total > 12 << 20 else { continue }
      let received = transport.received
      let copy = TestCache.temporaryDirectory()
      defer { try? FileManager.default.removeItem(at: copy) }
      try disk.image.materialise(run.directoryPath, as: copy.path(percentEncoded: false), &random)
      let stored = StoredBytes(copy, url, bootIdentity: "after the cut")
      if received.subtracting(stored.usableSpans()).byteCount <= 4 << 20 { break }
    }
    resume.finish()
    _ = try await prefetch.value
    await cache.close()
  }
}

/// One use of a cache over a disk whose power is sometimes cut.
private final class PowerCutRun: Sendable {
  struct Cut: Sendable {
    var image: PowerCutDisk.Image
    var received: [(range: ByteRange, at: ContinuousClock.Instant)]
    var at: ContinuousClock.Instant

    /// The received bytes that are missing, and those of them received more than 2 s before.
    func lost(_ spans: RangeSet<Int64>) -> (all: Int64, old: Int64) {
      var all: Int64 = 0
      var old: Int64 = 0
      for (range, time) in received {
        let lost = RangeSet(range).subtracting(spans).byteCount
        all += lost
        if at - time > .seconds(2) { old += lost }
      }
      return (all, old)
    }
  }

  private struct State {
    var received: [(range: ByteRange, at: ContinuousClock.Instant)] = []
    var cuts: [Cut] = []
    var next: Int
    var random: SeededGenerator
  }

  let directory = TestCache.temporaryDirectory()
  let limit: Int64?
  private let state: Mutex<State>
  private let disk = Mutex<PowerCutDisk?>(nil)

  init(seed: UInt64, limit: Int64?, _ random: inout SeededGenerator) throws {
    self.limit = limit
    state = Mutex(
      State(next: .random(in: 1...60, using: &random), random: SeededGenerator(seed: seed ^ 1)))
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let disk = PowerCutDisk { [weak self] in self?.operated($0) }
    self.disk.withLock { $0 = disk }
  }

  var directoryPath: String {
    let path = directory.path(percentEncoded: false)
    return path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  var cuts: [Cut] { state.withLock { $0.cuts } }

  func removeFiles() { try? FileManager.default.removeItem(at: directory) }

  private func operated(_ number: Int) {
    let isDue = state.withLock { state in
      guard number >= state.next, state.cuts.count < 8 else { return false }
      state.next = number + Int.random(in: 1...120, using: &state.random)
      return true
    }
    if isDue { cut() }
  }

  /// Records the state that a power cut would leave now.
  func cut() {
    guard let disk = disk.withLock({ $0 }) else { return }
    let received = state.withLock { $0.received }
    let cut = Cut(image: disk.image, received: received, at: .now)
    state.withLock { $0.cuts.append(cut) }
  }

  func transport(seed: UInt64, length: Int64) -> MemoryTransport {
    MemoryTransport(seed: seed, length: length) { [self] chunk in
      let now = ContinuousClock.now
      state.withLock { $0.received.append((chunk, now)) }
    }
  }

  func configuration(_ transport: MemoryTransport) -> MediaCache.Configuration {
    TestCache.configuration {
      $0.limit = limit
      $0.transport = transport
    }
  }

  func cache(_ transport: MemoryTransport) throws -> MediaCache {
    guard let disk = disk.withLock({ $0 }) else { throw CancellationError() }
    return try MediaCache(
      directory: directory, configuration: configuration(transport), disk: disk)
  }

  /// Returns a cache over the remaining files, after a restart of the machine.
  func reopened(_ copy: URL, _ transport: MemoryTransport) throws -> MediaCache {
    try MediaCache(
      directory: copy, configuration: configuration(transport), disk: SystemDisk(),
      bootIdentity: "after the cut")
  }

  func materialise(_ cut: Cut, _ random: inout SeededGenerator) throws -> URL {
    let copy = TestCache.temporaryDirectory()
    let path = copy.path(percentEncoded: false)
    try cut.image.materialise(
      directoryPath, as: path.hasSuffix("/") ? String(path.dropLast()) : path, &random)
    return copy
  }

  /// Runs readers that begin in several places and each continue for a while.
  func read(
    _ url: URL, from starts: [Int64], _ cache: MediaCache, _ transport: MemoryTransport
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for start in starts {
        group.addTask {
          let reader = try await cache.open(Resource(url: url))
          defer { reader.cancel() }
          let range = start..<min(start + (3 << 20), transport.length)
          let bytes = try await reader.bytes(in: range)
          #expect([UInt8](bytes) == transport.bytes.bytes(in: range))
        }
      }
      try await group.waitForAll()
    }
  }
}
