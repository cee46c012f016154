// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct RateMeterTests {
  @Test func `Too few bytes give no rate`() async throws {
    var meter = RateMeter()
    #expect(meter.bytesPerSecond == nil)
    meter.begin()
    try await Task.sleep(for: .milliseconds(20))
    meter.end(received: (16 << 10) - 1)
    #expect(meter.bytesPerSecond == nil)
    meter.end(received: 16 << 10)
    #expect(meter.bytesPerSecond != nil)
  }

  @Test func `The rate counts only the time spent waiting for bytes`() async throws {
    var meter = RateMeter()
    meter.begin()
    try await Task.sleep(for: .milliseconds(20))
    meter.end(received: 1 << 20)
    let before = try #require(meter.bytesPerSecond)
    #expect(before <= Double(1 << 20) / 0.02)
    try await Task.sleep(for: .milliseconds(20))
    #expect(meter.bytesPerSecond == before)
    meter.begin()
    try await Task.sleep(for: .milliseconds(20))
    meter.end(received: 0)
    let after = try #require(meter.bytesPerSecond)
    #expect(after < before && after <= Double(1 << 20) / 0.04)
  }

  @Test func `Bytes received without a wait give no rate`() throws {
    var meter = RateMeter()
    meter.end(received: 1 << 20)
    #expect(meter.bytesPerSecond == nil && meter.isFull)
  }
}
