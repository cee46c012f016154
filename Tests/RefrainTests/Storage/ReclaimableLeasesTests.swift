// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// Whoever needs room waits for idle entries only.
struct ReclaimableLeasesTests {
  @Test func `Nothing is waited for without idle entries`() {
    let leases = ReclaimableLeases()
    #expect(!leases.releaseAll())
    _ = leases.add { false }
    #expect(!leases.releaseAll())
  }

  @Test func `Entries that holders release are waited for`() {
    let leases = ReclaimableLeases()
    _ = leases.add { false }
    let held = leases.add { true }
    _ = leases.add { false }
    #expect(leases.releaseAll())
    leases.remove(held)
    #expect(!leases.releaseAll())
  }

  @Test func `Entries are being closed until that has ended`() {
    let leases = ReclaimableLeases()
    let (first, second) = (leases.closingBegan(), leases.closingBegan())
    #expect(leases.closing == [first, second] && first != second)
    leases.closingEnded(first)
    #expect(leases.closing == [second] && !leases.releaseAll())
    leases.closingEnded(second)
    #expect(leases.closing.isEmpty)
  }
}
