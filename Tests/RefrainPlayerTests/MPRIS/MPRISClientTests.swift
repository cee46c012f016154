// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Programs of desktops.
  @MainActor
  @Suite(
    .enabled(
      if: TestBus.isUsable && RequiredProgram.playerctl.isUsable
        && RequiredProgram.busctl.isUsable),
    .timeLimit(.minutes(2)))
  struct MPRISClientTests {
    @Test func `Playerctl controls the player and shows it`() async throws {
      try await BusPlayer.with { player, bus, _ in
        @MainActor func playerctl(_ arguments: String...) async throws -> String {
          let (status, text) = try await bus.run(
            RequiredProgram.playerctl, arguments: ["--player=sample"] + arguments)
          #expect(status == 0, "\(arguments): \(text)")
          player.settle()
          return text
        }
        #expect(try await playerctl("--list-all") == "sample")
        #expect(try await playerctl("status") == "Playing")
        #expect(
          try await playerctl("metadata", "--format", "{{title}} {{mpris:length}}")
            == "ok-30 30000000")
        // playerctl extrapolates the position of a playing player, so pause first.
        _ = try await playerctl("pause")
        #expect(player.player.status == .paused)
        _ = try await playerctl("position", "7")
        #expect(player.player.position == .seconds(7))
        _ = try await playerctl("position", "3+")
        #expect(try await playerctl("position") == "10.000000")
        _ = try await playerctl("play-pause")
        #expect(player.player.status == .playing)
        _ = try await playerctl("next")
        #expect(player.player.queue.currentIndex == 1)
        _ = try await playerctl("previous")
        #expect(player.player.queue.currentIndex == 0)
        _ = try await playerctl("volume", "0.25")
        #expect(player.player.volume == 0.25)
        _ = try await playerctl("loop", "Playlist")
        #expect(player.player.repeatMode == .all)
        _ = try await playerctl("shuffle", "On")
        #expect(player.player.isShuffled)
        _ = try await playerctl("open", "file:///ok-20")
        #expect(player.player.item?.media.url.lastPathComponent == "ok-20")
        _ = try await playerctl("stop")
        #expect(player.player.status == .idle)
        _ = try await playerctl("play")
        #expect(player.player.status == .playing)
      }
    }

    @Test func `Busctl calls every other method, and sets every other property`() async throws {
      try await BusPlayer.with { player, bus, _ in
        @MainActor func busctl(
          _ verb: String, _ member: String, _ arguments: String...
        ) async throws -> String {
          let interface =
            MPRISMethod(rawValue: member)?.interface ?? MPRISProperty(rawValue: member)?.interface
          let (status, text) = try await bus.run(
            RequiredProgram.busctl,
            arguments: [
              "--user", verb, "--", BusPlayer.name, MPRISInterface.path,
              try #require(interface).rawValue, member,
            ] + arguments)
          #expect(status == 0, "\(member): \(text)")
          player.settle()
          return text
        }
        #expect(
          try await busctl("get-property", "Tracks")
            == #"ao 3 "/refrain/track/0" "/refrain/track/1" "/refrain/track/2""#)
        #expect(
          try await busctl("call", "GetTracksMetadata", "ao", "1", "/refrain/track/1")
            .contains(#""xesam:title" s "ok-40""#))
        _ = try await busctl(
          "call", "AddTrack", "sob", "file:///ok-10", "/refrain/track/0", "false")
        #expect(player.player.queue.items[1].media.url.lastPathComponent == "ok-10")
        _ = try await busctl("call", "RemoveTrack", "o", "/refrain/track/2")
        #expect(player.player.queue.items.count == 3)
        _ = try await busctl("call", "GoTo", "o", "/refrain/track/1")
        #expect(player.player.item?.media.title == "ok-40")
        _ = try await busctl("call", "Seek", "x", "-1")
        _ = try await busctl("call", "SetPosition", "ox", "/refrain/track/1", "5000000")
        #expect(try await busctl("get-property", "Position") == "x 5000000")
        _ = try await busctl("set-property", "Rate", "d", "1.5")
        #expect(player.player.rate == 1.5)
        #expect(try await busctl("get-property", "Identity") == #"s "Sample""#)
        player.mpris.onRaise = {}
        _ = try await busctl("call", "Raise")
        #expect(try await busctl("get-property", "CanRaise") == "b true")
      }
    }
  }
#endif
