// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import RefrainLocks
import TestSupport
import Testing

@testable import Refrain

/// One origin and one cache directory through several lives of a cache. In each life, readers in
/// tasks and on threads, prefetches and the origin act at random and concurrently.
///
/// The seed determines each one's actions; the machine determines their order.
final class ModelRun: Sendable {
  private static let paths = (0..<5).map { "/media/\($0).wav" }

  private let seed: UInt64
  private let hasFaults: Bool
  private let origin: OriginServer
  private let directory = TestCache.temporaryDirectory()
  private let versions = Mutex<[String: [SyntheticBytes]]>([:])
  private let asked = Mutex<[String: RangeSet<Int64>]>([:])
  private let steps = Mutex<[String: Int]>([:])
  private let received = Mutex<[CacheKey: Int64]>([:])

  init(seed: UInt64, hasFaults: Bool) async throws {
    self.seed = seed
    self.hasFaults = hasFaults
    origin = try await OriginServer.start()
    for index in Self.paths.indices { serve(index, version: 0) }
    guard hasFaults else { return }
    // The first response may be the page: it is then the resource, until the song arrives.
    let bytes = SyntheticBytes(seed: seed &* 1000 &+ 999)
    versions.withLock { $0[Self.paths[Self.portal], default: []].append(bytes) }
    origin.serve(
      OriginResource(
        .synthetic(seed: bytes.seed, length: length(Self.portal) + 777), contentType: "text/html",
        supportsRanges: false), at: Self.page)
  }

  /// Validators come with some responses only, and later than the first.
  private static let untagged = 2
  /// Two servers respond in turn, each with its own tags.
  private static let balanced = 0
  /// A sign-in page sometimes comes in its place.
  private static let portal = 1
  private static let page = "/sign-in.html"

  private func note(_ step: String) { steps.withLock { $0[step, default: 0] += 1 } }

  // MARK: The origin

  private func length(_ index: Int) -> Int64 {
    [700_001, 1_500_003, 65_536, 2_200_019, 1_000_000][index % 5]
  }

  private func serve(_ index: Int, version: UInt64) {
    let path = Self.paths[index]
    let bytes = SyntheticBytes(seed: seed &* 1000 &+ UInt64(index) * 100 &+ version)
    // Added before it is served: no reader is faster than the model.
    versions.withLock { $0[path, default: []].append(bytes) }
    // Where a response may lack a validator, only the length identifies another version.
    let isUntagged = hasFaults && index == Self.untagged
    let length = length(index) + (isUntagged ? Int64(version) : 0)
    var resource = OriginResource.synthetic(seed: bytes.seed, length: length)
    if index == 1 { resource.headers.append(Field("Cache-Control", "max-age=3600")) }
    if hasFaults, index == 3 { resource.supportsRanges = false }
    if hasFaults, index == 4 { resource.declaresLength = false }
    origin.serve(resource, at: path)
  }

  /// Transient faults, and the special behavior of some paths.
  private func script(_ index: Int, seed: UInt64, requests: Int) -> FaultScript {
    let faults = FaultScript.random(seed: seed, requests: requests)
    switch index {
    case Self.untagged:
      return faults.on(.where { ($0.number + Int(seed % 3)) % 3 != 0 }, .noValidators)
    case Self.balanced:
      return faults.on(.where { ($0.number + Int(seed % 2)) % 2 == 0 }, .otherServer("-b"))
    case Self.portal:
      return faults.on(
        .where { ($0.number + Int(seed % 7)) % 7 < 2 }, .redirect(302, to: Self.page))
    default: return faults
    }
  }

  // MARK: Running

  func run(lives: Int, steps: Int) async throws {
    defer { try? FileManager.default.removeItem(at: directory) }
    for life in 0..<lives { try await live(UInt64(life), steps) }
    if !hasFaults { checkRequests() }
    await origin.stop()
  }

  private func configuration() -> MediaCache.Configuration {
    TestCache.configuration {
      // Where two requests meet, the bytes that one has already brought would come twice.
      if !hasFaults { $0.joinPatience = .seconds(1000) }
      if hasFaults {
        $0.limit = 4 << 20
        $0.retry.attempts = 40
        // Random faults may well hit one byte three times.
        $0.retry.cutAttempts = 40
        $0.retry.firstAttempts = 40
        $0.silenceTimeout = .seconds(5)
        $0.responseTimeout = .seconds(5)
      }
    }
  }

  private func live(_ life: UInt64, _ steps: Int) async throws {
    let cache = try MediaCache(directory: directory, configuration: configuration())
    let watch = Task { try await watchForHanging(cache, life) }
    let counting = count(cache.events(includingTraffic: true))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for actor in 0..<6 {
        let random = SeededGenerator(seed: seed &+ life &* 1000 &+ UInt64(actor))
        group.addTask { try await self.play(cache, random, steps) }
      }
      for actor in 6..<8 {
        let random = SeededGenerator(seed: seed &+ life &* 1000 &+ UInt64(actor))
        group.addTask { try await self.playOnThread(cache, random, steps) }
      }
      var random = SeededGenerator(seed: seed &+ life &* 1000 &+ 99)
      if hasFaults {
        for (index, path) in Self.paths.enumerated() {
          origin.script(path, script(index, seed: random.next(), requests: 60))
        }
      }
      for _ in 0..<2 {
        let random = SeededGenerator(seed: random.next())
        group.addTask { try await self.prefetch(cache, random, steps / 4) }
      }
      if hasFaults {
        let random = SeededGenerator(seed: random.next())
        group.addTask { try await self.disturb(cache, random, steps / 4, life) }
      }
      try await group.waitForAll()
    }
    // Every running request completes.
    try await eventually("every entry is closed\n\(Self.dump(cache))") {
      cache.table.isEmpty
    }
    watch.cancel()
    await cache.close()
    await counting.value
    if !hasFaults { try await checkEconomy() }
  }

  /// Counts received bytes until the cache is closed.
  private func count(_ events: AsyncStream<CacheEvent>) -> Task<Void, Never> {
    Task {
      for await event in events {
        guard case .received(let key, let count) = event else { continue }
        received.withLock { $0[key, default: 0] += Int64(count) }
      }
    }
  }

  /// Checks that every byte came once: all received bytes are stored. Requested bytes that no
  /// reader wanted any more never arrived.
  private func checkEconomy() async throws {
    let cache = try MediaCache(directory: directory, configuration: configuration())
    for path in Self.paths {
      let key = CacheKey(url: origin.url(path))
      let stored = try await cache.entry(for: key)?.cachedBytes ?? 0
      let log = origin.log(path).requests.map { "\($0.request.range ?? "-") \($0.bodyBytesSent)" }
      #expect(received.withLock { $0[key] ?? 0 } == stored, "seed \(seed), \(path): \(log)")
    }
    await cache.close()
  }

  private func checkRequests() {
    for path in Self.paths {
      let log = origin.log(path)
      let missing = asked.withLock { $0[path, default: .init()] }.subtracting(log.sent)
      #expect(missing.isEmpty, "seed \(seed), \(path): \(missing) was read and never sent")
    }
  }

  // MARK: Hanging

  private func watchForHanging(_ cache: MediaCache, _ life: UInt64) async throws {
    try await Task.sleep(for: .seconds(60))
    Issue.record("seed \(seed), life \(life) hangs:\n\(Self.dump(cache))")
    // Otherwise nothing would end.
    for entry in cache.table.openEntries { entry.shutDown() }
  }

  static func dump(_ cache: MediaCache) -> String {
    cache.table.openEntries.map { entry in
      let state = entry.current?.withState { state in
        """
          length \(state.length.map(String.init) ?? "?") ranges \
        \(state.info?.supportsRanges.description ?? "?") stored \(state.stored) \
        transient \(state.isTransient) \(state.transient.spans) refusal \(String(describing: state.storage.refusal)) \
        \(state.life)
          readers \(state.readers.all)
          fetches \(state.fetches.all)
          waiters \(state.readers.waiters.mapValues { "\($0.reader) at \($0.offset ?? -1)" })
        """
      }
      return "\(entry.key)\n\(state ?? "  closed")"
    }.joined(separator: "\n") + "\n  gate free: \(cache.starter.gate.isFree)"
  }

  // MARK: Players

  private enum Call {
    case read(ByteRange)
    case readAndCancelTask(ByteRange)
    case readAndCancelReader(ByteRange)
    case information
  }

  private func next(
    _ random: inout SeededGenerator, _ index: Int, after position: Int64
  ) -> Call {
    let length = length(index)
    let start =
      Bool.random(using: &random)
      ? min(position, length - 1) : Int64.random(in: 0..<length, using: &random)
    let size: Int64 = [10, 5_000, 70_000, 300_000].randomElement(using: &random) ?? 1
    let range = start..<min(length, start + Int64.random(in: 1...size, using: &random))
    switch Int.random(in: 0..<20, using: &random) {
    case 0: return .readAndCancelReader(range)
    case 1, 2: return .readAndCancelTask(range)
    case 3: return .information
    default: return .read(range)
    }
  }

  private func resource(_ index: Int) -> Resource {
    Resource(url: origin.url(Self.paths[index]))
  }

  private func play(
    _ cache: MediaCache, _ generator: SeededGenerator, _ steps: Int
  ) async throws {
    var random = generator
    var left = steps
    while left > 0 {
      let index = Int.random(in: 0..<Self.paths.count, using: &random)
      let fills = Int.random(in: 0..<8, using: &random) == 0
      let reader = try await cache.open(
        resource(index), fill: fills ? .wholeResource : .onDemand)
      note("open")
      var model = ReaderModel(self, index)
      var position: Int64 = 0
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        left -= 1
        let call = next(&random, index, after: position)
        guard
          let end = try await perform(
            call, reader, &model, delay: Int.random(in: 0..<4, using: &random))
        else { break }
        position = end
      }
      // Some readers cancel, and some are just released.
      if Bool.random(using: &random) { reader.cancel() }
    }
  }

  /// - Returns: the reader's new position; nil if the reader is of no further use.
  private func perform(
    _ call: Call, _ reader: MediaReader, _ model: inout ReaderModel, delay: Int
  ) async throws -> Int64? {
    do {
      switch call {
      case .information:
        note("information")
        let information = try await reader.contentInformation()
        model.check(information)
        return 0
      case .read(let range):
        note("read")
        var offset = range.lowerBound
        for try await chunk in reader.chunks(in: range) {
          model.check(chunk, at: offset)
          offset += Int64(chunk.count)
        }
        model.checkEnd(offset, range)
        return offset
      case .readAndCancelTask(let range):
        note("cancelled task")
        let read = Task { try await reader.bytes(in: range) }
        for _ in 0..<delay * delay * 10 { await Task.yield() }
        read.cancel()
        do { model.check(try await read.value, at: range.lowerBound) } catch is CancellationError {}
        return range.upperBound
      case .readAndCancelReader(let range):
        note("cancelled reader")
        let read = Task { try await reader.bytes(in: range) }
        for _ in 0..<delay * delay * 10 { await Task.yield() }
        reader.cancel()
        model.check(try await read.value, at: range.lowerBound)
        return nil
      }
    } catch is CancellationError {
      return nil
    } catch let error as MediaCacheError where hasFaults && Self.isOfChanges(error) {
      note("changed")
      return nil
    }
  }

  /// Whether the resource has changed, or two servers in turn have broken off too many responses.
  private static func isOfChanges(_ error: MediaCacheError) -> Bool {
    error.code == .resourceChanged || error == GenerationState.keepsChanging
  }

  private func playOnThread(
    _ cache: MediaCache, _ generator: SeededGenerator, _ steps: Int
  ) async throws {
    var random = generator
    var left = steps
    while left > 0 {
      let index = Int.random(in: 0..<Self.paths.count, using: &random)
      let reader = try await cache.open(resource(index))
      let calls = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        next(&random, index, after: 0)
      }
      let cancels = Int.random(in: 0..<6, using: &random) == 0
      left -= calls.count
      let read = Task { try await onThread { try self.block(reader, index, calls) } }
      if cancels {
        for _ in 0..<Int.random(in: 0..<60, using: &random) { await Task.yield() }
        reader.cancel()
      }
      do {
        try await read.value
      } catch is CancellationError where cancels {
      } catch let error as MediaCacheError where hasFaults && Self.isOfChanges(error) {
      }
      reader.cancel()
    }
  }

  private func block(_ reader: MediaReader, _ index: Int, _ calls: [Call]) throws {
    var model = ReaderModel(self, index)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 50_000, alignment: 16)
    defer { buffer.deallocate() }
    for call in calls {
      switch call {
      case .information: model.check(try reader.contentInformationBlocking())
      case .read(let range), .readAndCancelTask(let range), .readAndCancelReader(let range):
        note("blocking read")
        var offset = range.lowerBound
        while offset < range.upperBound {
          let most = min(buffer.count, Int(range.upperBound - offset))
          let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<most])
          let count = try reader.readBlocking(into: part, at: offset)
          if count == 0 { break }
          model.check(Data(part[..<count]), at: offset)
          offset += Int64(count)
        }
        model.checkEnd(offset, range)
      }
    }
  }

  // MARK: Prefetches

  private func prefetch(
    _ cache: MediaCache, _ generator: SeededGenerator, _ steps: Int
  ) async throws {
    var random = generator
    for _ in 0..<steps {
      let index = Int.random(in: 0..<Self.paths.count, using: &random)
      let start = Int64.random(in: 0..<length(index), using: &random)
      let range = start..<min(length(index), start + Int64.random(in: 1...400_000, using: &random))
      let isWhole = Int.random(in: 0..<5, using: &random) == 0
      let resource = resource(index)
      let task = Task { try await cache.prefetch(resource, range: isWhole ? nil : range) }
      note("prefetch")
      if Int.random(in: 0..<3, using: &random) == 0 {
        for _ in 0..<Int.random(in: 0..<200, using: &random) { await Task.yield() }
        task.cancel()
      }
      do {
        _ = try await task.value
        note("prefetched")
        if !hasFaults {
          asked.withLock {
            $0[Self.paths[index], default: .init()]
              .insert(contentsOf: isWhole ? 0..<length(index) : range)
          }
        }
      } catch is CancellationError {
      } catch let error as MediaCacheError
        where hasFaults && (error.code == .storage || Self.isOfChanges(error))
      {
        note("prefetch: \(error.code)")
      }
    }
  }

  // MARK: The world

  /// Changes the resource, breaks connections, removes entries.
  private func disturb(
    _ cache: MediaCache, _ generator: SeededGenerator, _ steps: Int, _ life: UInt64
  ) async throws {
    var random = generator
    var version = life * 20
    for _ in 0..<steps {
      let index = Int.random(in: 0..<Self.paths.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0 where version < life * 20 + 19:
        version += 1
        serve(index, version: version)
        note("new version")
      case 1: await origin.closeConnections()
      case 2:
        do { try await cache.remove(cache.key(for: resource(index))) } catch let error
          as MediaCacheError where error.code == .inUse
        {}
      case 3: _ = try await cache.entries()
      case 4:
        origin.script(Self.paths[index], script(index, seed: random.next(), requests: 30))
      default: _ = try await cache.usage()
      }
      for _ in 0..<Int.random(in: 0..<300, using: &random) { await Task.yield() }
    }
  }

  // MARK: The model

  /// The bytes that one reader may return.
  struct ReaderModel {
    private let run: ModelRun
    private let index: Int
    /// The versions that all of the reader's bytes match; nil before its first byte.
    private var possible: [SyntheticBytes]?

    init(_ run: ModelRun, _ index: Int) {
      self.run = run
      self.index = index
    }

    private var path: String { ModelRun.paths[index] }

    mutating func check(_ data: Data, at offset: Int64) {
      let range = offset..<offset + Int64(data.count)
      let candidates = possible ?? run.versions.withLock { $0[path] ?? [] }
      let fitting = candidates.filter { areEqual($0.bytes(in: range), data) }
      if fitting.isEmpty {
        let all = run.versions.withLock { $0[path] ?? [] }
        let others = all.filter { areEqual($0.bytes(in: range), data) }.map(\.seed)
        Issue.record(
          """
          seed \(run.seed): wrong bytes of \(path) in \(range); \
          possible \(candidates.map(\.seed)), they are of \(others), all \(all.map(\.seed))
          """)
      }
      possible = fitting
      run.asked.withLock { $0[path, default: .init()].insert(contentsOf: range) }
    }

    func checkEnd(_ offset: Int64, _ range: ByteRange) {
      if offset != range.upperBound {
        Issue.record("seed \(run.seed): \(path) ends at \(offset) in \(range)")
      }
    }

    func check(_ information: ContentInformation) {
      let isFixed = !run.hasFaults || ![ModelRun.untagged, ModelRun.portal].contains(index)
      if let length = information.length, isFixed, length != run.length(index) {
        Issue.record("seed \(run.seed): \(path) has \(length) bytes, it says")
      }
    }
  }
}
