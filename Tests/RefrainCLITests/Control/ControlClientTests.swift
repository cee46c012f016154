// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// One client of a control socket, without the socket's thread.
  struct ControlClientTests {
    /// Reads all that the client was sent.
    private func received(_ file: CInt) -> String {
      var text: [UInt8] = []
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = recv(file, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        guard count > 0 else { return String(decoding: text, as: UTF8.self) }
        text += bytes[..<count]
      }
    }

    @Test func `A client that has caught up is sent the latest value at once`() throws {
      var ends: [CInt] = [-1, -1]
      try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
      defer { for end in ends { close(end) } }
      var client = ControlClient(ends[0], number: 0)
      var state = ControlState()
      let now = ContinuousClock.now
      let asked = Array("{\"command\":[\"observe_property\",1,\"volume\"]}\n".utf8)
      #expect(write(ends[1], asked, asked.count) == asked.count)
      client.receive()
      client.work(state, at: now) { _ in }
      #expect(client.report(state, now) == nil)
      #expect(received(ends[1]).contains("property-change"))
      // More than the system holds.
      while !client.output.isSlow {
        client.add(event: String(repeating: "x", count: 1000), isRepeated: false)
        _ = client.report(state, now)
      }
      state.player.volume = 0.25
      _ = client.report(state, now + .seconds(1))
      #expect(!received(ends[1]).contains("property-change"))
      // It has read all that was sent. Nothing else wakes the thread after this.
      _ = client.report(state, now + .seconds(2))
      #expect(received(ends[1]).contains("\"data\":25"))
    }
  }
#endif
