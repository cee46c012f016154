// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct RateMeterTests {
  @Test func `Too little tells nothing`() {
    var meter = RateMeter()
    #expect(meter.bytesPerSecond == nil)
    meter.begin()
    meter.end(received: 16 << 10 - 1)
    #expect(RateMeter().bytesPerSecond == nil)
  }

  @Test func `Only the time that bytes were waited for counts`() async throws {
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

  @Test func `What was there before it was waited for tells nothing`() throws {
    var meter = RateMeter()
    meter.end(received: 1 << 20)
    #expect(meter.bytesPerSecond == nil && meter.isFull)
  }
}
