// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The player on the bus.
  @MainActor
  @Suite(.enabled(if: TestBus.isUsable), .timeLimit(.minutes(2)))
  struct MPRISBusTests {
    @Test func `The introspection has the members of the specification`() async throws {
      try await BusPlayer.with { _, _, client in
        let answer = try await client.call(
          BusPlayer.name, MPRISInterface.path, "org.freedesktop.DBus.Introspectable",
          "Introspect")
        guard case .text(let xml) = answer.first else {
          Issue.record("\(answer)")
          return
        }
        // The bus's own interfaces are those of sd-bus, and differ between its versions.
        let found = InterfaceDescription.parse(xml).filter { $0.key.hasPrefix("org.mpris.") }
        #expect(Set(found.keys) == Set(InterfaceDescription.specification.keys))
        for (name, expected) in InterfaceDescription.specification {
          let lines = found[name]?.lines ?? []
          #expect(lines.symmetricDifference(expected.lines) == [], "\(name)")
        }
      }
    }

    @Test func `Every property is read as the state has it`() async throws {
      try await BusPlayer.with { player, _, client in
        player.mpris.onRaise = {}
        var app = MPRISState.App.sample
        let configuration = MPRIS.Configuration("sample")
        (app.identity, app.desktopEntry, app.canRaise) = ("Sample", "", true)
        (app.uriSchemes, app.mimeTypes) = (configuration.uriSchemes, configuration.mimeTypes)
        let state = MPRISState(app: app, player: player.player.state)
        for interface in MPRISInterface.allCases {
          let properties = try await client.all(interface)
          let expected = MPRISProperty.allCases.filter { $0.interface == interface }
          #expect(Set(properties.keys) == Set(expected.map(\.rawValue)))
          for property in expected {
            #expect(
              properties[property.rawValue] == state.value(of: property).item,
              "\(property.rawValue)")
          }
        }
        #expect(try await client.get(.playbackStatus) == .text("Playing"))
      }
    }

    @Test func `Characters that the bus refuses do not hide the player`() async throws {
      let titles: [(scalars: [UInt32], shown: String)] = [
        ([0x61, 0xFDD0, 0x62], "a\u{FFFD}b"), ([0x61, 0x1FFFF], "a\u{FFFD}"),
        ([0x61, 0, 0x62], "ab"), ([0xFFFD, 0xFC], "\u{FFFD}ü"),
      ]
      let items = titles.map { title in
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: title.scalars.compactMap { Unicode.Scalar($0) })
        var media = ScriptedEngine.media("ok-30")
        media.title = String(scalars)
        return media
      }
      try await BusPlayer.with(items) { player, _, client in
        try await client.listen()
        for (_, shown) in titles {
          #expect(try await client.metadata()["xesam:title"] == .text(shown))
          player.player.next()
          player.settle()
          try await eventually("a change is announced") {
            try await client.signals().contains { $0.member == "PropertiesChanged" }
          }
        }
      }
    }

    @Test func `Refused calls receive errors, and the player stays as it is`() async throws {
      try await BusPlayer.with { player, _, client in
        let state = player.player.state
        @MainActor func failure(_ body: () async throws -> Void) async -> String? {
          do {
            try await body()
            return nil
          } catch {
            return (error as? BusClient.Failure)?.name
          }
        }
        let errors = "org.freedesktop.DBus.Error."
        #expect(await failure { try await client.perform(.quit) } == errors + "NotSupported")
        #expect(
          await failure { try await client.perform(.openURI, .string("ftp://h/a")) }
            == errors + "NotSupported")
        #expect(
          await failure { try await client.set(.loopStatus, .string("Twice")) }
            == errors + "InvalidArgs")
        // By sd-bus itself: wrong types, and what is not there or cannot be written.
        #expect(
          await failure { try await client.perform(.seek, .string("1")) }
            == errors + "InvalidArgs")
        #expect(await failure { try await client.set(.volume, .string("1")) } != nil)
        #expect(
          await failure { try await client.set(.position, .int64(1)) }
            == errors + "PropertyReadOnly")
        #expect(
          await failure {
            try await client.call(
              BusPlayer.name, MPRISInterface.path, "org.mpris.MediaPlayer2.Player", "Rewind")
          } == errors + "UnknownMethod")
        #expect(player.player.state == state)
      }
    }

    @Test func `Raising, fullscreen and the end reach the app, after the answer`() async throws {
      try await BusPlayer.with { player, _, client in
        let calls = BusCalls()
        player.mpris.onRaise = { calls.all.append("raise") }
        player.mpris.onFullscreen = { [weak mpris = player.mpris] in
          calls.all.append("fullscreen")
          mpris?.isFullscreen = $0
        }
        player.mpris.onQuit = { calls.all.append("quit") }
        try await client.perform(.raise)
        try await eventually("raised") { calls.all == ["raise"] }
        try await client.set(.isFullscreen, .bool(true))
        #expect(calls.all == ["raise", "fullscreen"])
        #expect(try await client.get(.isFullscreen) == .bool(true))
        try await client.perform(.quit)
        try await eventually("ended") { calls.all.last == "quit" }
      }
    }

    @Test func `The player's own window is announced, and fills the screen for a client`()
      async throws
    {
      try await BusPlayer.with { player, _, client in
        try await client.listen()
        var known = try await client.all(.root)
        #expect(known["CanSetFullscreen"] == .bool(false))
        player.engine.showWindow(false)
        try await waits(for: true, false, of: client, &known)
        try await client.set(.isFullscreen, .bool(true))
        #expect(player.engine.isFullscreen == true)
        #expect(try await client.get(.isFullscreen) == .bool(true))
        try await waits(for: true, true, of: client, &known)
        // By a key.
        player.engine.showWindow(false)
        try await waits(for: true, false, of: client, &known)
        player.engine.showWindow(nil)
        try await waits(for: false, false, of: client, &known)
        await #expect(throws: BusClient.Failure.self) {
          try await client.set(.isFullscreen, .bool(true))
        }
        #expect(player.engine.isFullscreen == nil)
      }
    }

    /// Waits until PropertiesChanged has announced these values to a client.
    private func waits(
      for canSet: Bool, _ isFullscreen: Bool, of client: BusClient,
      _ known: inout [String: BusItem]
    ) async throws {
      try await eventually("CanSetFullscreen is \(canSet), and Fullscreen \(isFullscreen)") {
        for signal in try await client.signals() where signal.member == "PropertiesChanged" {
          guard case .map(let changed) = signal.values.dropFirst().first else { continue }
          known.merge(changed) { $1 }
        }
        return known["CanSetFullscreen"] == .bool(canSet)
          && known["Fullscreen"] == .bool(isFullscreen)
      }
    }

    @Test func `A URI that is looked up for ever holds up no other, and ends with the player`()
      async throws
    {
      try await BusPlayer.with { player, _, client in
        let calls = BusCalls()
        player.mpris.onOpen = { uri in
          guard uri.hasSuffix("slow") else { return [ScriptedEngine.media("ok-\(uri.count)")] }
          // Ends only when it is cancelled.
          try? await Task.sleep(for: .seconds(3600))
          calls.all.append("cancelled")
          return []
        }
        let start = DBusValue.path(MPRISTrackID.none)
        try await client.perform(.addTrack, .string("https://h/slow"), start, .bool(false))
        try await client.perform(.openURI, .string("https://h/slow"))
        try await client.perform(.openURI, .string("https://h/quick"))
        try await client.perform(.addTrack, .string("https://h/another"), start, .bool(false))
        try await eventually("both are there") { player.player.queue.items.count == 5 }
        #expect(player.player.item?.media.url.lastPathComponent == "ok-15")
        try await eventually("the other one to play is cancelled") { calls.all.count == 1 }
        await player.mpris.close()
        try await eventually("the added one is cancelled") { calls.all.count == 2 }
      }
    }

    @Test func `A seek is announced, and the position never`() async throws {
      try await BusPlayer.with { player, _, client in
        try await client.listen()
        let track = player.player.item.map { MPRISTrackID.path($0.id) } ?? ""
        try await client.perform(.setPosition, .path(track), .int64(7_000_000))
        player.settle()
        var signals: [BusClient.Signal] = []
        try await eventually("it is announced") {
          signals += try await client.signals()
          return signals.contains { $0.member == "Seeked" && $0.values == [.number(7_000_000)] }
        }
        #expect(try await client.get(.position) == .number(7_000_000))
        #expect(
          !signals.contains { signal in
            guard case .map(let changed) = signal.values.dropFirst().first else { return false }
            return changed["Position"] != nil
          })
      }
    }

    @Test func `A picture of the web is a file until the player leaves the bus`() async throws {
      let picture = [0x89, 0x50, 0x4E, 0x47, 1, 2, 3] as [UInt8]
      try await withOrigin { origin, _, _ in
        for path in ["/cover", "/slow"] {
          origin.serve(OriginResource(.bytes(picture), contentType: "image/png"), at: path)
        }
        origin.script("/slow", .on(.all, .delay(nil)))
        let items = [("ok-30", "/cover"), ("ok-40", "/slow")].map { name, path in
          var media = ScriptedEngine.media(name)
          media.artwork = origin.url(path)
          return media
        }
        try await BusPlayer.with(items) { player, _, client in
          var shown: URL?
          try await eventually("it is shown") {
            guard case .text(let text) = try await client.metadata()["mpris:artUrl"] else {
              return false
            }
            shown = URL(string: text)
            return true
          }
          let file = try #require(shown)
          #expect(file.isFileURL && file.pathExtension == "png")
          #expect(try Data(contentsOf: file) == Data(picture))
          player.player.next()
          try await eventually("the next one is requested") {
            !origin.log("/slow").requests.isEmpty
          }
          let metadata = try await client.metadata()
          #expect(metadata["mpris:trackid"] != nil && metadata["mpris:artUrl"] == nil)
          // Does not wait for that origin.
          await player.mpris.close()
          let folder = file.deletingLastPathComponent().path(percentEncoded: false)
          #expect(!FileManager.default.fileExists(atPath: folder))
        }
      }
    }

    @Test func `A picture that is a file is shown as it is, and local files show their folder's`()
      async throws
    {
      try await withDirectory { folder in
        let stated = folder.appending(path: "stated.png")
        try Data([0x89, 0x50, 0x4E, 0x47]).write(to: stated)
        let cover = folder.appending(path: "cover.jpg")
        try Data([0xFF, 0xD8, 0xFF]).write(to: cover)
        var media = ScriptedEngine.media("ok-30")
        media.artwork = stated
        let items =
          [media] + ["ok-40", "ok-50"].map { Media(folder.appending(path: $0)) } + [
            ScriptedEngine.media("ok-60")
          ]
        try await BusPlayer.with(items) { player, _, client in
          for picture in [stated, cover, cover, nil] {
            try await eventually("\(String(describing: picture)) is shown") {
              try await client.metadata()["mpris:artUrl"]
                == picture.map { .text($0.absoluteString) }
            }
            player.player.next()
            player.settle()
          }
        }
      }
    }
  }
#endif
