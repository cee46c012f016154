// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainServer

struct ClientTableTests {
  private func table(_ change: (inout ClientLimits) -> Void) -> ClientTable {
    var limits = ClientLimits()
    change(&limits)
    return ClientTable(limits)
  }

  private let one = ClientNetwork("192.0.2.1")
  private let other = ClientNetwork("192.0.2.2")

  @Test func `Requests come at once up to ten, and then at the rate`() {
    var table = table { $0.requestsPerSecond = 2 }
    for _ in 0..<10 { #expect(table.admit(one, at: 5) == nil) }
    #expect(table.admit(one, at: 5) == 0.5)
    #expect(table.admit(other, at: 5) == nil)
    #expect(table.admit(one, at: 5.5) == nil)
    #expect(table.admit(one, at: 5.5) == 0.5)
  }

  @Test func `A client that reconnects has not regained its allowance`() {
    var table = table { $0.requestsPerSecond = 1 }
    #expect(table.enter(one, at: 0) == true)
    for _ in 0..<10 { #expect(table.admit(one, at: 0) == nil) }
    table.leave(one, at: 0)
    #expect(table.enter(one, at: 0) == true)
    #expect(table.admit(one, at: 0) == 1)
  }

  @Test func `All connections of a client share its bytes`() {
    var table = table { $0.bytesPerSecond = 1000 }
    #expect(table.spend(250, for: one, at: 0) == 0)
    #expect(table.spend(500, for: one, at: 0) == 0.5)
    #expect(table.spend(500, for: one, at: 0) == 1)
    #expect(table.spend(250, for: other, at: 0) == 0)
  }

  @Test func `Clients that use nothing are forgotten`() {
    var table = table {
      $0.connections = 1
      $0.requestsPerSecond = 1
    }
    for number in 0..<20_000 {
      let client = ClientNetwork("client \(number)")
      let now = Double(number)
      #expect(table.enter(client, at: now) == true)
      #expect(table.admit(client, at: now) == nil)
      table.leave(client, at: now)
    }
    #expect(table.count <= 2048)
    let last = ClientNetwork("client 19999")
    #expect(table.enter(last, at: 20_000) == true)
    #expect(table.enter(last, at: 20_000) == false)
  }

  @Test func `An address is a client, and of IPv6 its network`() {
    #expect(ClientNetwork("192.0.2.1") == ClientNetwork("::ffff:192.0.2.1"))
    #expect(ClientNetwork("192.0.2.1") != ClientNetwork("192.0.2.2"))
    #expect(ClientNetwork("2001:db8:1:2::1") == ClientNetwork("2001:db8:1:2:ffff::9"))
    #expect(ClientNetwork("2001:db8:1:2::1") != ClientNetwork("2001:db8:1:3::1"))
    #expect(ClientNetwork("fe80::1%eth0") == ClientNetwork("fe80::1"))
    #expect(ClientNetwork("?") != ClientNetwork("192.0.2.1"))
  }
}
