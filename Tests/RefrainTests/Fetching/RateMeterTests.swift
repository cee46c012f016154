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
    meter.end(received: 1 << 20)
    let before = try #require(meter.bytesPerSecond)
    try await Task.sleep(for: .milliseconds(20))
    #expect(meter.bytesPerSecond == before)
    meter.begin()
    try await Task.sleep(for: .milliseconds(20))
    meter.end(received: 0)
    let after = try #require(meter.bytesPerSecond)
    #expect(after < before && after <= Double(1 << 20) / 0.02)
  }

  @Test func `No time at all is no division by zero`() throws {
    var meter = RateMeter()
    meter.end(received: 1 << 20)
    let rate = try #require(meter.bytesPerSecond)
    #expect(rate.isFinite && rate > 0)
  }
}
