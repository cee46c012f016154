// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct OpenFileLimitTests {
  @Test(arguments: [
    (1024, 524_288, UInt64.max, UInt64?(524_288)), (256, .max, 10_240, 10_240),
    // Higher than what the system would accept now, or as high as possible.
    (65_536, .max, 10_240, nil), (10_240, .max, 10_240, nil), (4096, 4096, .max, nil),
    (20_000, 4096, .max, nil),
  ])
  func `The soft limit is raised as far as the system permits, and never lowered`(
    _ soft: UInt64, _ hard: UInt64, _ most: UInt64, _ expected: UInt64?
  ) {
    #expect(DescriptorBudget.raised(soft, hard: hard, most: most) == expected)
  }
}
