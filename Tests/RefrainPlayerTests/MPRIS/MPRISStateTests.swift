// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The properties that follow from a player's state.
  struct MPRISStateTests {
    @Test func `A new player is stopped and has no track`() {
      let state = MPRISState(app: .sample)
      #expect(state.value(of: .playbackStatus) == .string("Stopped"))
      #expect(
        state.value(of: .metadata)
          == .map(["mpris:trackid": .path("/org/mpris/MediaPlayer2/TrackList/NoTrack")]))
      #expect(state.value(of: .tracks) == .paths([]))
      for property in [MPRISProperty.canPlay, .canPause, .canSeek, .canGoNext, .canGoPrevious] {
        #expect(state.value(of: property) == .bool(false))
      }
      #expect(state.value(of: .canControl) == .bool(true))
    }

    @Test(arguments: [
      (PlaybackStatus.idle, false, "Stopped"), (.ended, false, "Stopped"),
      (.failed(MediaCacheError(.storage, "It failed.", remedy: "")), false, "Stopped"),
      (.loading, true, "Playing"), (.loading, false, "Paused"), (.playing, true, "Playing"),
      (.paused, false, "Paused"), (.buffering(.bytes), true, "Playing"),
    ])
    func `Playback that waits is shown as playing`(
      _ status: PlaybackStatus, _ wantsToPlay: Bool, _ shown: String
    ) {
      let state = MPRISState.sample { ($0.status, $0.wantsToPlay) = (status, wantsToPlay) }
      #expect(state.value(of: .playbackStatus) == .string(shown))
      #expect(state.value(of: .canSeek) == .bool(shown != "Stopped"))
      #expect(state.value(of: .canPlay) == .bool(true))
      #expect(state.value(of: .canPause) == .bool(true))
    }

    @Test func `Metadata contains what playlist and media state, and no credentials`() {
      var state = MPRISState.sample([]) { player in
        var media = Media(URL(string: "https://user:word@example.org/a%20b.ogg?x=1")!)
        media.artist = "Somebody"
        player.queue.append([media])
        player.metadata = MediaMetadata(title: "A title", artist: "Nobody", album: "An album")
        player.duration = .milliseconds(61_500)
      }
      state.artwork = "file:///run/1.png"
      #expect(
        state.metadata == [
          "mpris:trackid": .path("/refrain/track/0"), "mpris:length": .int64(61_500_000),
          "mpris:artUrl": .string("file:///run/1.png"), "xesam:title": .string("A title"),
          "xesam:artist": .strings(["Somebody"]), "xesam:album": .string("An album"),
          "xesam:url": .string("https://example.org/a%20b.ogg?x=1"),
        ])
    }

    @Test func `An item without a title is shown with the name of its file`() {
      let state = MPRISState.sample(["one"]) { player in
        player.queue.append([Media(URL(filePath: "/a song.flac"))])
      }
      #expect(
        state.metadata(of: state.player.queue.items[1])["xesam:title"] == .string("a song"))
    }

    @Test func `A live stream has no length, cannot seek, and shows what it sends`() {
      let state = MPRISState.sample { player in
        player.isLive = true
        player.metadata = MediaMetadata(streamTitle: "A song", station: "A station")
      }
      #expect(state.metadata["mpris:length"] == nil)
      #expect(state.metadata["xesam:title"] == .string("A song"))
      #expect(state.metadata["xesam:artist"] == .strings(["A station"]))
      #expect(state.value(of: .canSeek) == .bool(false))
    }

    @Test(
      arguments: [(nil, false, false), (false, true, false), (true, true, true)]
        as [(Bool?, Bool, Bool)])
    func `The player's own window can fill the screen while it is open`(
      _ isFullscreen: Bool?, _ canSet: Bool, _ value: Bool
    ) {
      var state = MPRISState.sample { $0.isFullscreen = isFullscreen }
      #expect(state.value(of: .canSetFullscreen) == .bool(canSet))
      #expect(state.value(of: .isFullscreen) == .bool(value))
      #expect(state.value(of: .canRaise) == .bool(false))
      // The mode of the app's window is the app's own.
      (state.app.canSetFullscreen, state.app.isFullscreen) = (true, !value)
      #expect(state.value(of: .canSetFullscreen) == .bool(true))
      #expect(state.value(of: .isFullscreen) == .bool(!value))
    }

    @Test func `The position lies within the length`() {
      var state = MPRISState.sample { $0.position = .seconds(61) }
      #expect(state.value(of: .position) == .int64(60_000_000))
      state.player.position = .seconds(-1)
      #expect(state.value(of: .position) == .int64(0))
      state.player.duration = nil
      state.player.position = .seconds(Int64.max / 1000)
      #expect(state.value(of: .position) == .int64(.max))
    }

    @Test func `A muted player has the volume zero`() {
      let state = MPRISState.sample { ($0.volume, $0.isMuted) = (0.5, true) }
      #expect(state.value(of: .volume) == .double(0))
    }

    @Test func `Metadata of tracks comes in the order of the call, without unknown ones`() {
      let state = MPRISState.sample()
      let paths = [state.track(2), "/refrain/track/9", state.track(0), "/refrain/track/00"]
      let tracks = state.metadata(ofTracks: paths)
      #expect(tracks.map { $0["xesam:title"] } == [.string("three"), .string("one")])
      #expect(tracks.last?["mpris:length"] == .int64(60_000_000))
    }

    @Test func `Every value has its property's type`() {
      for state in [MPRISState.sample(), MPRISState(app: .sample)] {
        for property in MPRISProperty.allCases {
          #expect(state.value(of: property).signature == property.signature)
        }
      }
    }
  }

  /// The names that players ask for, and where the bus is.
  struct BusNamesTests {
    @Test func `The first player has the app's name, and others one of their own`() {
      var names = BusNames("refrain", process: 42)
      #expect(names.next() == "org.mpris.MediaPlayer2.refrain")
      #expect(names.next() == "org.mpris.MediaPlayer2.refrain.instance42_1")
      #expect(names.next() == "org.mpris.MediaPlayer2.refrain.instance42_2")
    }

    @Test(arguments: [("My Player!", "My_Player_"), ("3song", "_3song"), ("", "_"), ("ü.b", "__b")])
    func `Characters that no name can contain are replaced`(_ name: String, _ shown: String) {
      var names = BusNames(name, process: 42)
      #expect(names.next() == "org.mpris.MediaPlayer2." + shown)
    }

    @Test func `The bus of the environment comes before that of the runtime directory`() throws {
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "refrain bus,\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.path(percentEncoded: false).dropLast()
      #expect(SessionBus.address([:]) == nil)
      #expect(SessionBus.address(["XDG_RUNTIME_DIR": String(path)]) == nil)
      try Data().write(to: folder.appending(path: "bus"))
      let found = try #require(SessionBus.address(["XDG_RUNTIME_DIR": String(path)]))
      #expect(found.hasPrefix("unix:path=/"))
      #expect(found.contains("refrain%20bus%2c") && found.hasSuffix("/bus"))
      #expect(
        SessionBus.address([
          "XDG_RUNTIME_DIR": String(path), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/b",
        ]) == "unix:path=/b")
    }
  }

  extension MPRISState {
    /// A player with a queue, whose first item plays.
    static func sample(
      _ names: [String] = ["one", "two", "three"], _ change: (inout PlayerState) -> Void = { _ in }
    ) -> MPRISState {
      var player = PlayerState()
      player.queue = PlayQueue(seed: 1)
      player.queue.append(names.map { Media(URL(filePath: "/\($0).ogg"), title: $0) })
      if !names.isEmpty { (player.status, player.wantsToPlay) = (.playing, true) }
      player.duration = .seconds(60)
      change(&player)
      return MPRISState(app: .sample, player: player)
    }

    /// The path of the item at `index` of the queue.
    func track(_ index: Int) -> String { MPRISTrackID.path(player.queue.items[index].id) }

    func id(_ index: Int) -> PlayQueue.Item.ID { player.queue.items[index].id }
  }

  extension MPRISState.App {
    static let sample = Self(
      identity: "Sample", desktopEntry: "sample", uriSchemes: ["file", "https"],
      mimeTypes: ["audio/ogg"])
  }
#endif
