// SPDX-License-Identifier: MIT
import OriginServer
import Testing

@testable import Refrain

/// `MediaCache.Configuration.originRate`, and `MediaCache.originRate` at run time.
@Suite(.timeLimit(.minutes(1))) struct OriginRateTests {
  private static let length: Int64 = 300_000

  /// A quarter of a second's bytes come at once, the others in order. Both files take 1.75 seconds;
  /// only the last chunk of each is not waited for.
  private static let rate: Int64 = 300_000

  private static func debt(to origin: Origin) -> Double { origin.withMemory { $0.pace.spend(0) } }

  @Test func `Two fetches together keep the rate, and bring every byte`() async throws {
    try await withCache({ $0.originRate = Self.rate }) { test in
      for path in ["/a", "/b"] {
        test.origin.serve(.synthetic(seed: 1, length: Self.length), at: path)
      }
      let start = ContinuousClock.now
      async let a = test.read("/a")
      async let b = test.read("/b")
      let wanted = SyntheticBytes(seed: 1).bytes(in: 0..<Self.length)
      #expect(try await a == wanted)
      #expect(try await b == wanted)
      #expect(ContinuousClock.now - start > .milliseconds(400))
      // A fetch counts its last bytes after their reader has them.
      for path in ["/a", "/b"] {
        let reader = try await test.reader(path)
        defer { reader.cancel() }
        try await eventually("the fetch of \(path) ends") {
          reader.generation.withState { $0.fetches.isEmpty }
        }
      }
      // Stored bytes cost no time of the rate.
      let origin = test.cache.origin
      try await eventually("the pauses are over") { Self.debt(to: origin) == 0 }
      _ = try await test.read("/a")
      #expect(Self.debt(to: origin) == 0)
    }
  }

  @Test func `A reader that leaves ends the pause of its fetch`() async throws {
    // An hour for all of it.
    try await withCache({ $0.originRate = 277 }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 1_000_000), at: "/a")
      let reader = try await test.reader("/a")
      #expect(try await reader.waitUntilReadable(at: 0).lowerBound == 0)
      reader.cancel()
      try await eventually("the origin's response ends") { test.origin.log("/a").running == 0 }
    }
  }

  @Test func `A lifted rate ends the pause of a fetch, whatever it owed`() async throws {
    // An hour for all of it: this test's time would be over.
    try await withCache({ $0.originRate = 277 }) { test in
      test.origin.serve(.synthetic(seed: 1, length: 1_000_000), at: "/a")
      #expect(test.cache.originRate == 277)
      async let bytes = test.read("/a")
      let origin = test.cache.origin
      try await eventually("the fetch pauses") { Self.debt(to: origin) > 0 }
      test.cache.originRate = nil
      #expect(try await bytes == SyntheticBytes(seed: 1).bytes(in: 0..<1_000_000))
      #expect(test.cache.originRate == nil)
      #expect(origin.withMemory { $0.pace.spend(1 << 40) } == 0)
    }
  }

  @Test func `Another rate ends the pause for an earlier one`() async throws {
    let origin = MediaCache.Configuration().origin(MemoryTransport(seed: 1, length: 1))
    origin.withMemory { $0.pace.bytesPerSecond = 1 }
    // Eleven days.
    let pause = Task { await origin.keepPace(after: 1_000_000) }
    try await eventually("it pauses") { Self.debt(to: origin) > 0 }
    origin.withMemory { $0.pace.bytesPerSecond = 2 }
    await pause.value
    #expect(Self.debt(to: origin) == 0)
  }

  @Test func `A pause ends if the bytes are not wanted any more`() async throws {
    let origin = MediaCache.Configuration().origin(MemoryTransport(seed: 1, length: 1))
    origin.withMemory { $0.pace.bytesPerSecond = 1 }
    await origin.keepPace(after: 1_000_000) { false }
    #expect(Self.debt(to: origin) > 0)
  }

  @Test func `A rate that is set again forgets no debt, and another one does`() {
    var pace = OriginPace(bytesPerSecond: 1000)
    _ = pace.spend(1_000_000)
    pace.bytesPerSecond = 1000
    #expect(pace.spend(0) > 0)
    pace.bytesPerSecond = 2000
    #expect(pace.spend(0) == 0)
    #expect(pace.spend(1_000_000) > 0)
  }
}
