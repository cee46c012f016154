// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// A control socket and its clients.
  @MainActor
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct ControlServerTests {
    @Test func `A client reads and sets properties, and controls the queue`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        #expect(try await client.ask(#""client_name""#).data == .string("ipc_0"))
        #expect(try await client.ask(#""get_version""#).data == .string("0.1.0"))
        #expect(try await client.get("pause") == .bool(false))
        let paused = try await client.ask(#""set_property","pause",true"#)
        #expect(paused.error == "success" && paused.data == .null)
        #expect(try await client.get("pause") == .bool(true))
        #expect(!controlled.player.wantsToPlay)
        #expect(try await client.ask(#""seek",4"#).error == "success")
        #expect(try await client.get("time-pos")?.finite == 4)
        #expect(try await client.ask(#""playlist-next""#).error == "success")
        #expect(try await client.get("playlist-pos") == .integer(1))
        #expect(try await client.ask(#""playlist-move",2,0"#).error == "success")
        #expect(controlled.names == ["c", "a", "b"])
        let refused = try await client.ask(#""playlist-next""#)
        #expect(refused.error == "error running command")
        #expect(refused.message?.contains("last item") == true)
        #expect(try await client.ask(#""get_property","x""#).error == "property not found")
        #expect(
          try await client.ask(#""get_property","fullscreen""#).error == "property unavailable")
        #expect(try await client.ask(#""quit""#).error == "success")
        #expect(controlled.quits.count == 1)
      }
    }

    @Test func `A client lists the sound devices, and moves the sound to one`() async throws {
      try await ControlledPlayer.with { controlled in
        controlled.server.devices = {
          [
            AudioDevice(name: "auto", description: "Autoselect device"),
            AudioDevice(name: "alsa/usb", description: "USB sound"),
          ]
        }
        let client = try controlled.connect()
        #expect(try await client.get("audio-device") == .string("auto"))
        #expect(
          try await client.get("audio-device-list")?.json
            == #"[{"description":"Autoselect device","name":"auto"},"#
            + #"{"description":"USB sound","name":"alsa/usb"}]"#)
        #expect(try await client.ask(#""observe_property",1,"audio-device""#).error == "success")
        #expect(
          try await client.ask(#""set_property","audio-device","alsa/usb""#).error == "success")
        #expect(controlled.device == "alsa/usb" && controlled.player.audioDevice == "alsa/usb")
        #expect(try await client.get("audio-device") == .string("alsa/usb"))
        let unknown = try await client.ask(#""set_property","audio-device","alsa2/x""#)
        #expect(unknown.error == "error accessing property")
        #expect(unknown.message?.contains("There is no sound device alsa2/x.") == true)
        let wrong = try await client.ask(#""set_property","audio-device",1"#)
        #expect(wrong.error == "unsupported format for accessing property")
        #expect(controlled.device == "alsa/usb")
        #expect(try await client.ask(#""set_property","audio-device","auto""#).error == "success")
        #expect(controlled.device == nil && controlled.player.audioDevice == nil)
        controlled.server.devices = { throw MPVError("There is no sound.", remedy: "Be patient.") }
        let failed = try await client.ask(#""get_property","audio-device-list""#)
        #expect(failed.error == "property unavailable")
        #expect(failed.message?.contains("There is no sound.") == true)
      }
    }

    @Test func `A client follows the window, and lets it fill the screen`() async throws {
      try await ControlledPlayer.with { controlled in
        let (client, other) = (try controlled.connect(), try controlled.connect())
        @MainActor func change() async throws -> ControlValue? {
          try await client.event("property-change", of: "fullscreen").data
        }
        #expect(try await client.ask(#""observe_property",1,"fullscreen""#).error == "success")
        #expect(try await change() == nil)
        let refused = try await other.ask(#""set_property","fullscreen",true"#)
        #expect(refused.error == "error accessing property")
        #expect(refused.message?.contains("No window is open") == true)
        controlled.showWindow(false)
        #expect(try await change() == .bool(false))
        #expect(try await other.ask(#""set_property","fullscreen",true"#).error == "success")
        #expect(try await other.get("fullscreen") == .bool(true))
        #expect(try await change() == .bool(true))
        #expect(controlled.player.isFullscreen == true)
        #expect(try await other.ask(#""cycle","fullscreen""#).error == "success")
        #expect(try await change() == .bool(false))
        controlled.showWindow(nil)
        #expect(try await change() == nil)
      }
    }

    @Test func `Files, lists and folders are loaded where the client says`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        let folder = controlled.directory.appending(path: "folder", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["x", "y"] {
          try Data("OggS".utf8).write(to: folder.appending(path: "\(name).ogg"))
        }
        let list = controlled.directory.appending(path: "list.m3u")
        try Data("#EXTM3U\nd.ogg\nmissing.ogg\n".utf8).write(to: list)
        _ = try controlled.file("d")
        func load(_ url: URL, _ place: String) async throws -> ControlConnection.Line {
          let path = url.path(percentEncoded: false)
          return try await client.ask(#""loadfile","\#(path)","\#(place)""#)
        }
        let added = try await load(folder, "append")
        guard case .object(let data) = added.data else {
          Issue.record("\(added)")
          return
        }
        #expect(data["count"] == .integer(2) && data["playlist_entry_id"] == .integer(3))
        #expect(controlled.names == ["a", "b", "c", "x", "y"])
        #expect(try await load(list, "insert-next").error == "success")
        #expect(controlled.names == ["a", "d", "missing", "b", "c", "x", "y"])
        #expect(controlled.player.queue.currentIndex == 0)
        #expect(try await load(try controlled.file("d"), "replace").error == "success")
        #expect(controlled.names == ["d"])
        #expect(try await client.ask(#""stop""#).error == "success")
        #expect(try await client.get("idle-active") == .bool(true))
        #expect(try await load(try controlled.file("a"), "append").error == "success")
        #expect(try await client.get("idle-active") == .bool(true))
        #expect(try await load(try controlled.file("b"), "append-play").error == "success")
        #expect(try await client.get("playlist-pos") == .integer(1))
        for text in ["/none.ogg", "-", "/dev/stdin", "http://", "example.org/a.ogg"] {
          let failed = try await client.ask(#""loadfile","\#(text)","append""#)
          #expect(failed.error == "loading failed", "\(text)")
          #expect(failed.message?.isEmpty == false)
        }
        #expect(controlled.names == ["a", "b"])
      }
    }

    @Test func `Commands of a client are performed in order, those of a gone one too`() async throws
    {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        let path = try controlled.file("d").path(percentEncoded: false)
        await client.send(
          #"{"command":["loadfile","\#(path)","append"],"request_id":1}"# + "\n"
            + #"{"command":["playlist-play-index",3],"request_id":2}"# + "\n"
            + #"{"command":["set_property","volume",30],"request_id":3}"# + "\n"
            + #"{"command":["get_property","playlist-pos"],"request_id":4}"# + "\n"
            + #"{"command":["set_property","pause",true]"#)
        client.endSending()
        var ids: [ControlValue?] = []
        while let line = try await client.line(), line.event == nil {
          #expect(line.error == "success")
          ids.append(line.requestID)
        }
        // Half a line is none.
        #expect(ids == [.integer(1), .integer(2), .integer(3), .integer(4)])
        #expect(controlled.player.queue.currentIndex == 3 && controlled.player.wantsToPlay)
        do {
          let other = try controlled.connect()
          await other.send(#"{"command":["set_property","volume",70]}"# + "\n")
        }
        try await eventually("it was set") { controlled.player.volume == 0.7 }
      }
    }

    @Test func `Observed properties are sent when they change, to those who observe`() async throws
    {
      try await ControlledPlayer.with { controlled in
        let (client, other) = (try controlled.connect(), try controlled.connect())
        #expect(try await client.ask(#""observe_property",7,"volume""#).error == "success")
        #expect(try await client.event("property-change", of: "volume").data?.finite == 100)
        #expect(try await client.ask(#""observe_property",8,"playlist-pos""#).error == "success")
        #expect(try await client.event("property-change", of: "playlist-pos").id == 8)
        // Somebody else changes it, and so does the program.
        #expect(try await other.ask(#""set_property","volume",40"#).error == "success")
        let change = try await client.event("property-change", of: "volume")
        #expect(change.id == 7 && change.data?.finite == 40)
        controlled.player.next()
        #expect(
          try await client.event("property-change", of: "playlist-pos").data == .integer(1))
        #expect(try await client.ask(#""unobserve_property",7"#).error == "success")
        _ = try await other.ask(#""set_property","volume",50"#)
        controlled.player.next()
        while let line = try await client.line() {
          #expect(line.name != "volume")
          if line.name == "playlist-pos" { break }
        }
        await other.send(#"{"command":["client_name"],"request_id":99}"# + "\n")
        #expect(try await other.line()?.event == nil)
      }
    }

    @Test func `All clients receive the events of the program`() async throws {
      try await ControlledPlayer.with { controlled in
        let clients = [try controlled.connect(), try controlled.connect()]
        for client in clients { _ = try await client.ask(#""client_name""#) }
        controlled.server.send(PlayEvent("ended", Media(try controlled.file("a"))))
        for client in clients { _ = try await client.event("ended") }
      }
    }

    @Test func `Hostile input ends in an error or a closed connection`() async throws {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        let lines = [
          #"{"command":}"#, #"{"command":"# + String(repeating: "[", count: 60_000),
          #"{"command":["seek",NaN]}"#, #"{"command":["seek",1e999]}"#,
          #"{"command":["seek",99999999999999999999999]}"#,
          #"{"command":["playlist-remove",-9223372036854775809]}"#,
          #"{"command":["add","playlist-pos",9e11]}"#,
        ]
        for line in lines {
          await client.send(line + "\n")
          let reply = try await client.line()
          #expect(reply?.error != nil && reply?.error != "success", "\(line.prefix(60))")
        }
        await client.send(bytes: [0x7B] + Array(0...9) + Array(11...255) + [10])
        #expect(try await client.line()?.error == "invalid parameter")
        for bytes in [
          [UInt8](repeating: 0x41, count: 1 << 20), [UInt8](repeating: 0, count: 1 << 20),
        ] {
          let hostile = try controlled.connect()
          async let sending: Void = hostile.send(bytes: bytes)
          let reply = try await hostile.line()
          #expect(reply?.message?.contains("at most 65536 bytes") ?? true)
          if reply != nil { #expect(try await hostile.line() == nil) }
          await sending
        }
        #expect(try await client.get("pause") == .bool(false))
      }
    }

    @Test func `A client that does not read is dropped, and nobody waits for it`() async throws {
      try await ControlledPlayer.with { controlled in
        let (slow, other) = (try controlled.connect(), try controlled.connect())
        _ = try await slow.ask(#""observe_property",1,"volume""#)
        _ = try await other.ask(#""client_name""#)
        var event = PlayEvent("metadata", nil)
        event.metadata = PlayEvent.Metadata(title: String(repeating: "x", count: 4000))
        // More than sockets hold and the queue may.
        for _ in 0..<40 {
          for _ in 0..<20 { controlled.server.send(event) }
          #expect(try await other.ask(#""get_property","pause""#).error == "success")
        }
        var count = 0
        while try await slow.line() != nil { count += 1 }
        #expect(count < 800)
        #expect(try await other.ask(#""get_property","pause""#).error == "success")
      }
    }

    @Test func `A slow client receives the latest values, not all`() async throws {
      try await ControlledPlayer.with { controlled in
        let (slow, other) = (try controlled.connect(), try controlled.connect())
        let media = try (0..<2000).map { Media(try controlled.file("a"), title: "Title \($0)") }
        controlled.player.enqueue(media)
        await slow.send(#"{"command":["observe_property",1,"playlist"]}"# + "\n")
        for index in 0..<100 {
          _ = try await other.ask(#""playlist-play-index",\#(index)"#)
        }
        var (count, last) = (0, ControlValue.null)
        while last != .bool(true) {
          guard
            case .array(let items) = try await slow.event("property-change", of: "playlist")
              .data, items.count > 99, case .object(let item) = items[99]
          else { continue }
          count += 1
          last = item["current"] ?? .null
        }
        #expect(count < 60)
      }
    }

    @Test func `At the end connections are closed, the file is gone, and replies arrive`()
      async throws
    {
      try await ControlledPlayer.with { controlled in
        let client = try controlled.connect()
        _ = try await client.ask(#""client_name""#)
        controlled.server.send(PlayEvent("report", nil))
        await controlled.server.close()
        _ = try await client.event("report")
        #expect(try await client.line() == nil)
        #expect(!FileManager.default.fileExists(atPath: controlled.path))
        #expect(throws: ControlConnection.Failure.self) { try controlled.connect() }
      }
    }

    @Test func `More clients than the limit wait until one leaves`() async throws {
      try await ControlledPlayer.with { controlled in
        var clients = try (0..<ControlLoop.clientLimit).map { _ in try controlled.connect() }
        for client in clients { _ = try await client.ask(#""client_name""#) }
        let late = try controlled.connect()
        clients.removeLast()
        #expect(try await late.ask(#""get_property","pause""#).error == "success")
        #expect(clients.count == ControlLoop.clientLimit - 1)
      }
    }
  }
#endif
