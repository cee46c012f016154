// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Buses and players that come and go.
  @MainActor
  @Suite(.enabled(if: TestBus.isUsable), .timeLimit(.minutes(2)))
  struct MPRISPresenceTests {
    @Test func `Several players have names of their own`() async throws {
      try await BusPlayer.with { first, bus, client in
        let second = BusPlayer(bus, first.cache)
        let process = ProcessInfo.processInfo.processIdentifier
        let name = BusPlayer.name + ".instance\(process)_1"
        try await second.appear(client, as: name)
        await first.mpris.close()
        #expect(try await !client.hasOwner(BusPlayer.name))
        #expect(try await client.hasOwner(name))
        // The name is free again.
        try await first.appear(client)
        await second.mpris.close()
        await second.player.close()
      }
    }

    @Test func `A bus that goes away is left alone, and the player plays on`() async throws {
      try await BusPlayer.with { player, bus, client in
        let mailbox = try #require(MPRISMailbox(MPRISState(app: .sample)))
        MPRISLoop.start(
          address: bus.address, name: "other", mailbox: mailbox, owner: Self.owner(BusCalls()))
        try await eventually("a second one is offered") {
          try await client.hasOwner("org.mpris.MediaPlayer2.other")
        }
        await bus.daemon.kill()
        // Its thread ends without being asked to.
        await mailbox.ended()
        player.player.next()
        player.settle()
        #expect(player.player.queue.currentIndex == 1)
        #expect(player.player.status == .playing)
        await player.mpris.close()
      }
    }

    @Test(arguments: ["", "unix:path=/nowhere/bus", "nonsense:", "unix:path=/dev/null"])
    func `Without a bus nothing is offered, and the player plays`(
      _ address: String
    ) async throws {
      let calls = BusCalls()
      let mailbox = try #require(MPRISMailbox(MPRISState(app: .sample)))
      MPRISLoop.start(
        address: address, name: "sample", mailbox: mailbox, owner: Self.owner(calls))
      // The thread ends without being asked to.
      await mailbox.ended()
      // What the thread has reported comes first.
      await Task { @MainActor in }.value
      #expect(calls.all == [])
      try await withPlayer { player, _ in
        var configuration = MPRIS.Configuration("sample")
        configuration.address = address
        let mpris = MPRIS(configuration)
        mpris.follow(player)
        player.play([ScriptedEngine.media("ok-30")])
        #expect(player.item != nil && player.wantsToPlay)
        await mpris.close()
      }
    }

    private static func owner(_ calls: BusCalls) -> MPRISLoop.Owner {
      MPRISLoop.Owner(
        perform: { _ in .done },
        isConnected: { Task { @MainActor in calls.all.append("connected") } })
    }

    @Test func `A library without sd-bus is as good as none`() {
      #expect(SystemdLibrary.load("libsystemd.so.1") == nil)
      #expect(SystemdLibrary.load("libc.so.6") == nil)
      #expect(SystemdLibrary.load() != nil)
    }

    @Test func `A player that is released leaves the bus`() async throws {
      try await TestBus.with { bus in
        let cache = try MediaCache(directory: bus.directory.appending(path: "cache"))
        let client = try BusClient(bus.address)
        var player: BusPlayer? = BusPlayer(bus, cache)
        try await player?.appear(client)
        weak let released = player?.mpris
        await player?.player.close()
        player = nil
        #expect(released == nil)
        try await eventually("the name is free") {
          try await !client.hasOwner(BusPlayer.name)
        }
        await cache.close()
      }
    }
  }
#endif
