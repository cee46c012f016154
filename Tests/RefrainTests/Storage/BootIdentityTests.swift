// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

@Suite struct BootIdentityTests {
  @Test func `The system's identity of the boot is used if it is revealed`() {
    #expect(BootIdentity.of(session: "A-1", bootTime: (seconds: 5, microseconds: 6)) == "A-1")
  }

  @Test(arguments: [nil, ""])
  func `Otherwise the boot time identifies the boot in every process`(_ session: String?) {
    func identity(_ seconds: Int, _ microseconds: Int) -> String {
      BootIdentity.of(session: session, bootTime: (seconds, microseconds))
    }
    #expect(identity(1_790_000_000, 17) == identity(1_790_000_000, 17))
    #expect(identity(1_790_000_000, 17) != identity(1_790_000_000, 18))
    #expect(identity(1_790_000_000, 17) != identity(1_790_000_001, 17))
  }

  @Test func `Without either, no two launches count as one boot`() {
    func identity() -> String { BootIdentity.of(session: nil, bootTime: nil) }
    #expect(identity() != identity())
    let unset = BootIdentity.of(session: nil, bootTime: (seconds: 0, microseconds: 0))
    #expect(unset.hasPrefix("unknown"))
  }

  @Test func `The identity stays while the process runs`() {
    #expect(BootIdentity.current == BootIdentity.current && !BootIdentity.current.isEmpty)
  }
}
