// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// A control socket as clients of mpv use it.
  @MainActor
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ControlShapeTests {
    @Test func `Every object is answered with its identifier`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        let lines = [
          (#"{"command":{"name":"seek","target":4},"request_id":99}"#, "success"),
          (#"{"command":{"name":"seek","second":4},"request_id":99}"#, "invalid parameter"),
          (#"{"command":"seek 4","request_id":99}"#, "invalid parameter"),
          (#"{"command":["seek",[4]],"request_id":99}"#, "invalid parameter"),
          (#"{"request_id":99}"#, "invalid parameter"),
        ]
        for (line, error) in lines {
          await client.send(line + "\n")
          let reply = try await client.line()
          #expect(reply?.requestID == .integer(99) && reply?.error == error, "\(line)")
        }
        #expect(controlled.player.position == .seconds(4))
      }
    }

    @Test func `Text is performed in order, and has no reply`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        await client.send(
          "set volume 20 ; add volume 5\nplaylist-next\nnonsense\nset volume 1 ; nonsense\n"
            + "seek \"4\" absolute # there\ncycle pause; show-text 'It works'\n")
        let reply = try await client.ask(#""get_property","volume""#)
        #expect(reply.data?.finite == 25)
        let player = controlled.player
        #expect(player.queue.currentIndex == 1 && player.position == .seconds(4))
        #expect(!player.wantsToPlay && controlled.quits.shown == ["It works"])
        // Nothing else was sent before.
        await client.send("get_property volume\n")
        await client.send(#"{"command":["client_name"],"request_id":"last"}"# + "\n")
        #expect(try await client.line()?.requestID == .string("last"))
      }
    }

    @Test func `Text that ends a connection is performed`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        await client.send("set volume 30 ; set mute yes ; playlist-play-index 2\n")
        client.endSending()
        #expect(try await client.line() == nil)
        let player = controlled.player
        #expect(player.volume == 0.3 && player.isMuted && player.queue.currentIndex == 2)
      }
    }

    @Test func `Values are texts for those who ask for texts`() async throws {
      try await ControlledPlayer.with { controlled in
        controlled.server.devices = { [AudioDevice(name: "auto", description: "Any")] }
        let client = try controlled.connect()
        #expect(
          try await client.ask(#""get_property_string","volume""#).data == .string("100.000000"))
        #expect(try await client.ask(#""get_property_string","pause""#).data == .string("no"))
        #expect(
          try await client.ask(#""get_property_string","audio-device-list""#).data
            == .string(#"[{"description":"Any","name":"auto"}]"#))
        _ = try await client.ask(#""observe_property_string",1,"volume""#)
        #expect(
          try await client.event("property-change", of: "volume").data == .string("100.000000"))
        #expect(
          try await client.ask(#""set_property_string","pause","yes""#).error == "success")
        #expect(!controlled.player.wantsToPlay)
      }
    }

    @Test func `Chapters in a file of their own belong to their item`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        let items = controlled.player.queue.items
        let chapters = [Media.Chapter(start: .zero), Media.Chapter(start: .seconds(6))]
        controlled.server.setChapters(chapters, of: items[0].id)
        #expect(try await client.get("chapters") == .integer(2))
        #expect(try await client.ask(#""add","chapter",1"#).error == "success")
        #expect(try await client.get("playback-time")?.finite == 6)
        #expect(try await client.ask(#""playlist-next""#).error == "success")
        #expect(try await client.get("chapters") == .integer(0))
      }
    }

    @Test func `A failed item is reported before the connection ends`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        _ = try await client.ask(#""client_name""#)
        let item = try #require(controlled.player.queue.items.first)
        let error = MediaCacheError(.unreachable, "a is away.", remedy: "Wait.")
        controlled.server.note(.failed(item, error), isQuitting: false)
        await controlled.server.close()
        let end = try await client.event("end-file")
        #expect(end.reason == "error" && end.fileError == "loading failed" && end.entry == 0)
        #expect(try await client.line() == nil)
      }
    }

    @Test func `A command that waits at the end of the program is answered`() async throws {
      try await ControlledPlayer.with { controlled in
        let (calls, called) = AsyncStream.makeStream(of: Void.self)
        let (waits, released) = AsyncStream.makeStream(of: Void.self)
        controlled.server.devices = {
          called.yield()
          // Goes on also when it is cancelled.
          await Task { for await _ in waits {} }.value
          return []
        }
        let client = try controlled.connect()
        await client.send(
          #"{"command":["get_property","audio-device-list"],"request_id":5}"# + "\n")
        for await _ in calls { break }
        await controlled.server.close()
        released.finish()
        let reply = try await client.line()
        #expect(reply?.requestID == .integer(5) && reply?.error != "success")
        #expect(try await client.line() == nil)
      }
    }
  }
#endif
