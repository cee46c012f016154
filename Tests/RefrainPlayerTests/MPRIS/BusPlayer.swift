// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport

  @testable import RefrainPlayer

  /// A player on a bus, whose engine does what the test says.
  @MainActor
  struct BusPlayer {
    let player: Player
    let engine = ScriptedEngine()
    let cache: MediaCache
    let mpris: MPRIS

    static let name = "org.mpris.MediaPlayer2.sample"

    /// Runs `body` with a player that has its name on the bus.
    static func with(
      _ media: [Media] = ["ok-30", "ok-40", "ok-50"].map { ScriptedEngine.media($0) },
      _ body: (BusPlayer, TestBus, BusClient) async throws -> Void
    ) async throws {
      try await TestBus.with { bus in
        let cache = try MediaCache(directory: bus.directory.appending(path: "cache"))
        let player = BusPlayer(bus, cache)
        player.player.play(media)
        player.settle()
        do {
          let client = try BusClient(bus.address)
          try await player.appear(client)
          try await body(player, bus, client)
        } catch {
          await player.close()
          throw error
        }
        await player.close()
      }
    }

    private func close() async {
      await mpris.close()
      await player.close()
      await cache.close()
    }

    init(_ bus: TestBus, _ cache: MediaCache) {
      self.cache = cache
      player = Player(cache: cache, engine: engine)
      var configuration = MPRIS.Configuration("sample", identity: "Sample")
      configuration.address = bus.address
      mpris = MPRIS(configuration)
    }

    /// Offers the player, and waits until a client finds it.
    func appear(_ client: BusClient, as name: String = BusPlayer.name) async throws {
      mpris.follow(player)
      try await eventually("\(name) is on the bus") { try await client.hasOwner(name) }
    }

    /// Lets everything happen that does not take time.
    func settle() {
      for _ in 0..<20 {
        guard
          let step = [ScriptedEngine.Step.begin, .ready, .arrive].first(where: {
            engine.possible.contains($0)
          })
        else { break }
        engine.take(step)
      }
      if engine.possible.contains(.duration) { engine.take(.duration) }
    }
  }

  extension BusClient {
    func hasOwner(_ name: String) async throws -> Bool {
      try await call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
        [.value(.string(name))]) == [.bool(true)]
    }

    /// Calls a method of the player.
    @discardableResult
    func perform(_ method: MPRISMethod, _ arguments: DBusValue...) async throws -> [BusItem] {
      try await call(
        BusPlayer.name, MPRISInterface.path, method.interface.rawValue, method.rawValue,
        arguments.map { .value($0) })
    }

    func get(_ property: MPRISProperty) async throws -> BusItem? {
      try await call(
        BusPlayer.name, MPRISInterface.path, "org.freedesktop.DBus.Properties", "Get",
        [.value(.string(property.interface.rawValue)), .value(.string(property.rawValue))]
      ).first
    }

    /// Returns the metadata of the current track.
    func metadata() async throws -> [String: BusItem] {
      guard case .map(let fields) = try await get(.metadata) else { return [:] }
      return fields
    }

    func set(_ property: MPRISProperty, _ value: DBusValue) async throws {
      try await call(
        BusPlayer.name, MPRISInterface.path, "org.freedesktop.DBus.Properties", "Set",
        [
          .value(.string(property.interface.rawValue)), .value(.string(property.rawValue)),
          .variant(value),
        ])
    }

    /// Returns all properties of an interface by name.
    func all(_ interface: MPRISInterface) async throws -> [String: BusItem] {
      let answer = try await call(
        BusPlayer.name, MPRISInterface.path, "org.freedesktop.DBus.Properties", "GetAll",
        [.value(.string(interface.rawValue))])
      guard case .map(let properties) = answer.first else { return [:] }
      return properties
    }
  }

  /// Calls that a player's app has received.
  @MainActor final class BusCalls {
    var all: [String] = []
  }
#endif
