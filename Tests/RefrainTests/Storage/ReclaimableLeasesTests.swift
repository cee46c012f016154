// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// Whoever needs room waits for idle entries only if some are about to be closed.
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

  @Test func `Entries that are being closed are waited for, although nobody holds them`() {
    let leases = ReclaimableLeases()
    leases.closingBegan()
    leases.closingBegan()
    leases.closingEnded()
    #expect(leases.releaseAll())
    leases.closingEnded()
    #expect(!leases.releaseAll())
  }
}
