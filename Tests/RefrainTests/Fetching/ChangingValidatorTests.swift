// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// Each response of the origin is of another version: podcasts with inserted advertisements, servers
/// behind one name whose ETags differ.
@Suite(.timeLimit(.minutes(1))) struct ChangingValidatorTests {
  enum Kind: CaseIterable, Sendable {
    /// The origin compares If-Range, and sends the whole resource if it differs.
    case tag
    /// It sends ranges whatever If-Range says.
    case tagAlone
    case weakTag
    /// No validators, and another length each time.
    case length
    /// Always the same ETag, and another length each time.
    case constantTag

    func resource(_ number: Int, _ control: String) -> OriginResource {
      let length = ChangingValidatorTests.length(number, self)
      var resource = OriginResource.synthetic(seed: UInt64(number), length: length)
      switch self {
      case .tag, .tagAlone: break
      case .weakTag: resource.etag = "W/\"\(number)\""
      case .length: resource.etag = nil
      case .constantTag: resource.etag = "\"always\""
      }
      resource.headers = [Field("Cache-Control", control)]
      return resource
    }
  }

  private static let shortest: Int64 = 1_000_003
  /// More responses than any test may cause.
  private static let responses = 100

  static func length(_ number: Int, _ kind: Kind) -> Int64 {
    kind == .length || kind == .constantTag ? shortest + Int64(number % 9) * 37 : shortest
  }

  /// - Parameter faults: of the response with that number.
  private func serve(
    _ kind: Kind, control: String = "max-age=3600", on origin: OriginServer, from first: Int = 1,
    _ faults: (Int) -> [Fault] = { _ in [] }
  ) {
    origin.serve(kind.resource(0, control), at: "/a")
    var rules: [FaultScript.Rule] = []
    for number in 1...Self.responses {
      var all: [Fault] = [.answerFrom(kind.resource(number + first - 1, control))]
      if kind != .tag { all.append(.ignoreIfRange) }
      rules.append(.init(.number(number), all + faults(number)))
    }
    origin.script("/a", FaultScript(rules))
  }

  /// The versions that all bytes of one reader match.
  struct Version {
    let kind: Kind
    private(set) var possible = Array(1...ChangingValidatorTests.responses)

    init(_ kind: Kind) { self.kind = kind }

    mutating func check(_ data: [UInt8], at offset: Int64, _ note: String = "") {
      let range = offset..<offset + Int64(data.count)
      possible = possible.filter {
        range.upperBound <= ChangingValidatorTests.length($0, kind)
          && SyntheticBytes(seed: UInt64($0)).bytes(
            in: offset..<offset + Int64(min(16, data.count)))
            == Array(data.prefix(16))
          && SyntheticBytes(seed: UInt64($0)).bytes(in: range) == data
      }
      #expect(!possible.isEmpty, "\(kind): the bytes in \(range) are of no version \(note)")
    }
  }

  /// Reads until one version is complete: `length` kinds have another end each.
  private func readAll(_ test: TestCache, _ kind: Kind) async throws -> Version {
    let reader = try await test.reader("/a")
    defer { reader.cancel() }
    var version = Version(kind)
    var offset: Int64 = 0
    for try await chunk in reader.chunks() {
      version.check(Array(chunk), at: offset)
      offset += Int64(chunk.count)
    }
    #expect(version.possible.map { Self.length($0, kind) }.contains(offset))
    return version
  }

  /// Reads here and there until one response is the version, and is complete.
  private func readHereAndThere(_ test: TestCache) async throws {
    for _ in 0..<5 {
      let reader = try await test.reader("/a")
      defer { reader.cancel() }
      do {
        for offset in [0, 500_000, 2000, 900_000] as [Int64] {
          _ = try await reader.bytes(in: offset..<offset + 1000)
        }
      } catch let error as MediaCacheError {
        #expect(error.code == .resourceChanged)
        continue
      }
      if reader.generation.withState(\.isOneResponse) { break }
    }
    try await expectComplete(test)
  }

  private func expectComplete(_ test: TestCache) async throws {
    let key = test.cache.key(for: Resource(url: test.origin.url("/a")))
    try await eventually("a response is complete") {
      try await test.cache.entry(for: key)?.isComplete == true
    }
  }

  @Test(arguments: Kind.allCases)
  func `After two versions in vain, one response is the version`(_ kind: Kind) async throws {
    try await withCache { test in
      serve(kind, on: test.origin)
      let key = test.cache.key(for: Resource(url: test.origin.url("/a")))
      // Versions are counted while the entry is open: one of which nothing was stored is forgotten
      // with it.
      var held: Entry?
      var changes = 0
      while changes < 5 {
        do {
          let reader = try await test.reader("/a")
          defer { reader.cancel() }
          if held == nil { held = await test.cache.table.heldEntry(for: key) }
          var version = Version(kind)
          // As players do: the beginning, the end, and on from the beginning.
          for offset in [0, 990_000, 2000, 700_000, 300_000] as [Int64] {
            try await version.check(Array(reader.bytes(in: offset..<offset + 1000)), at: offset)
          }
          break
        } catch let error as MediaCacheError {
          #expect(error.code == .resourceChanged)
          changes += 1
        }
      }
      #expect(changes <= 2)
      held?.release()
      // It is received to its end, although nobody reads it.
      try await expectComplete(test)
      let log = try await test.settledLog("/a")
      #expect(log.requests.count <= 4, "\(log.requests.map { $0.request.range ?? "-" })")
      _ = try await readAll(test, kind)
      #expect(test.origin.log("/a").requests.count == log.requests.count)
    }
  }

  @Test func `Readers that seek at random each receive one version, and few requests`() async throws
  {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed) (changing validators)")
    for (index, kind) in Kind.allCases.enumerated() {
      for fill in [FillPolicy.onDemand, .wholeResource] {
        try await withCache({ $0.firstRequest = 8 << 10 }) { test in
          serve(kind, on: test.origin)
          try await concurrently(4) { actor in
            var random = SeededGenerator(seed: seed &+ UInt64(index * 10 + actor))
            try await Self.seek(test, kind, fill, &random)
          }
          let log = try await test.settledLog("/a")
          #expect(
            log.requests.count <= 14,
            "seed \(seed), \(kind): \(log.requests.map { $0.request.range ?? "-" })")
        }
      }
    }
  }

  private static func seek(
    _ test: TestCache, _ kind: Kind, _ fill: FillPolicy, _ random: inout SeededGenerator
  ) async throws {
    for _ in 0..<6 {
      let reader = try await test.reader("/a", fill: fill)
      defer { reader.cancel() }
      var version = Version(kind)
      do {
        for _ in 0..<8 {
          let start = Int64.random(in: 0..<shortest - 30_000, using: &random)
          let range = start..<start + Int64.random(in: 1..<30_000, using: &random)
          try await version.check(Array(reader.bytes(in: range)), at: start)
        }
      } catch let error as MediaCacheError {
        #expect(error.code == .resourceChanged)
      }
    }
  }

  @Test(arguments: [Kind.tagAlone, .weakTag, .length, .constantTag])
  func `A stale version of one response is replaced by one request`(_ kind: Kind) async throws {
    try await withCache { test in
      serve(kind, control: "no-cache", on: test.origin)
      try await readHereAndThere(test)
      try await #expect(Self.isOneResponse(test))
      serve(kind, control: "no-cache", on: test.origin, from: 51)
      test.origin.resetLog("/a")
      try await test.reopened { later in
        let version = try await readAll(later, kind)
        // The constant tag is confirmed by a 304.
        if kind != .constantTag { #expect(version.possible == [51]) }
      }
      let requests = test.origin.log("/a").requests
      #expect(requests.count == 1 && requests.first?.request.range == nil)
      // What is stored plays without the origin.
      try await test.reopened({ $0.offline = true }) { _ = try await readAll($0, kind) }
      #expect(test.origin.log("/a").requests.count == 1)
    }
  }

  /// Whether the next process knows that what is stored is one response.
  private static func isOneResponse(_ test: TestCache) async throws -> Bool {
    var isOneResponse = false
    try await test.reopened({ $0.offline = true }) { later in
      let reader = try await later.reader("/a")
      defer { reader.cancel() }
      isOneResponse = reader.generation.withState(\.isOneResponse)
    }
    return isOneResponse
  }

  @Test(arguments: [Kind.tag, .tagAlone, .length])
  func `A reader of a version whose response broke off receives a new one`(
    _ kind: Kind
  ) async throws {
    try await withCache { test in
      // All but the first stop in the middle.
      serve(kind, on: test.origin) { $0 > 1 ? [.stall(at: .resource(600_000))] : [] }
      var isKnown = false
      for _ in 0..<4 where !isKnown {
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        do {
          _ = try await reader.bytes(in: 0..<1000)
          _ = try await reader.bytes(in: 500_000..<501_000)
          _ = try await reader.bytes(in: 300_000..<301_000)
        } catch let error as MediaCacheError {
          #expect(error.code == .resourceChanged)
        }
        isKnown = reader.generation.withState(\.isOneResponse)
      }
      let isOneResponse = try await Self.isOneResponse(test)
      #expect(isOneResponse || kind == .tag)
      serve(kind, on: test.origin, from: 51)
      test.origin.resetLog("/a")
      try await test.reopened({ $0.offline = true }) { later in
        var version = Version(kind)
        try await version.check(later.read("/a", 0..<100_000), at: 0)
      }
      guard isOneResponse else { return }
      try await test.reopened { _ = try await readAll($0, kind) }
      #expect(test.origin.log("/a").requests.count <= 2)
    }
  }

  @Test(arguments: [Kind.tag, .tagAlone, .length])
  func `Responses that all break off end in an error that says so`(_ kind: Kind) async throws {
    try await withCache { test in
      serve(kind, on: test.origin) { _ in [.drop(at: .resource(600_000))] }
      for _ in 0..<2 {
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        do {
          _ = try await reader.bytes(in: 0..<1000)
          _ = try await reader.bytes(in: 400_000..<401_000)
        } catch let error as MediaCacheError {
          #expect(error.code == .resourceChanged)
        }
      }
      var last: MediaCacheError?
      for _ in 0..<4 {
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        do {
          _ = try await reader.bytes(in: 700_000..<701_000)
          Issue.record("no response has these bytes")
        } catch let error as MediaCacheError {
          last = error
        }
      }
      #expect(last?.code == .invalidResponse)
      #expect(last?.reason.contains("another version with each response") == true)
      #expect(last?.remedy.isEmpty == false)
      #expect(test.origin.log("/a").requests.count < 40)
    }
  }

  @Test func `A resource that changes now and then is requested by ranges`() async throws {
    let clock = TestClock()
    // More than a minute passes between any two requests, those of the read-ahead included.
    let passing: @Sendable () -> Moment = {
      clock.pass(61)
      return clock.now()
    }
    try await withCache({ $0.clock = passing }) { test in
      serve(.tagAlone, control: "max-age=31536000", on: test.origin)
      for _ in 0..<4 {
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        _ = try await reader.bytes(in: 0..<1000)
        await #expect(throws: MediaCacheError.self) {
          try await reader.bytes(in: 500_000..<501_000)
        }
      }
      #expect(test.origin.log("/a").requests.allSatisfy { $0.request.range != nil })
    }
  }

  @Test func `A 304 for all that one response brought makes the origin a usual one`() async throws {
    let clock = TestClock()
    try await withCache({ $0.clock = clock.now }) { test in
      serve(.tagAlone, control: "no-cache", on: test.origin)
      try await readHereAndThere(test)
      try await test.closed()
      clock.pass(20)
      test.origin.script("/a", .on(.all, .status(304)))
      for isUsual in [false, true] {
        let reader = try await test.reader("/a")
        defer { reader.cancel() }
        if isUsual { #expect(!reader.generation.withState(\.isOneResponse)) }
        _ = try await reader.bytes(in: 0..<1000)
      }
      #expect(test.origin.log("/a").requests.last?.status == 304)
    }
  }
}
