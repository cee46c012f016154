// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// A prefetch gives way to a player that is short of bytes, and to no other.
@Suite(.timeLimit(.minutes(1))) struct GivingWayTests {
  private let length: Int64 = 8_000_003
  private let bytes = SyntheticBytes(seed: 7)

  private func prefetch(_ test: TestCache) async throws {
    test.origin.serve(.synthetic(seed: 8, length: 1_000_003), at: "/other")
    try await test.cache.prefetch(Resource(url: test.origin.url("/other")))
  }

  @Test func `A playing live stream does not delay a prefetch`() async throws {
    try await withCache { test in
      test.origin.serve(.station(seed: 7), at: "/radio")
      test.origin.script("/radio", .on(.all, .stall(at: .body(200_000))))
      let radio = try await test.reader("/radio")
      defer { radio.cancel() }
      _ = try await radio.bytes(in: 0..<200_000)
      // A listener always waits for the next bytes of a live stream.
      let next = Task { try await radio.bytes(in: 200_000..<200_001) }
      try await eventually("it waits") { radio.generation.withState { !$0.waiters.isEmpty } }
      try await prefetch(test)
      #expect(test.cache.context.gate.foregroundCount == 0)
      test.origin.release("/radio")
      _ = try await next.value
    }
  }

  @Test func `A player delays a prefetch only when its read-ahead runs short`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/played")
      test.origin.script("/played", .on(.all, .stall(at: .resource(6_000_000))))
      let player = try await test.reader("/played")
      defer { player.cancel() }
      // A player does not say where it will stop reading.
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
      defer { buffer.deallocate() }
      var read: Int64 = 0
      while read < 4_000_000 { read += Int64(try await player.read(into: buffer, at: read)) }
      try await eventually("it is far ahead") { player.cachedSpans.contains(4_400_000) }
      let gate = test.cache.context.gate
      try await eventually("no player is short") { gate.foregroundCount == 0 }
      try await prefetch(test)
      // The player reaches the end of the stored bytes.
      let edge = Task { try await player.bytes(in: 4_000_000..<6_000_001) }
      try await eventually("the player is short") { gate.foregroundCount > 0 }
      test.origin.serve(.synthetic(seed: 9, length: 1_000_003), at: "/third")
      let third = Task { try await test.cache.prefetch(Resource(url: test.origin.url("/third"))) }
      try await eventually("the prefetch waits") { gate.waitingCount == 1 }
      #expect(test.origin.log("/third").requests.isEmpty)
      test.origin.release("/played")
      _ = try await edge.value
      test.origin.script("/played", FaultScript())
      test.origin.release("/played")
      _ = try await third.value
    }
  }

  @Test func `A cancelled player no longer delays a prefetch`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/played")
      test.origin.script("/played", .on(.first(1), .stall(at: .body(1000))))
      let player = try await test.reader("/played")
      _ = try await player.waitUntilReadable(at: 0)
      let gate = test.cache.context.gate
      try await eventually("the player is short") { gate.foregroundCount == 1 }
      player.cancel()
      #expect(gate.foregroundCount == 0)
      try await prefetch(test)
      test.origin.release("/played")
    }
  }
}
