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
    let latest = leases.latestClosing
    #expect(first != second && latest == max(first, second) && leases.isClosing(since: latest))
    leases.closingEnded(first)
    #expect(leases.isClosing(since: latest) && !leases.releaseAll())
    // One that begins later is none of those.
    let third = leases.closingBegan()
    leases.closingEnded(second)
    #expect(!leases.isClosing(since: latest) && leases.isClosing(since: third))
    leases.closingEnded(third)
    #expect(!leases.isClosing(since: third))
  }
}
