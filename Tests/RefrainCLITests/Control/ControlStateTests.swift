// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// Properties and decisions, without a player.
  struct ControlStateTests {
    /// Three items, of which the second plays.
    private static let playing: ControlState = {
      var state = ControlState()
      let media = [
        Media(URL(filePath: "/music/one.ogg"), title: "One"),
        Media(
          URL(string: "https://user:secret@example.org/two.ogg?a=b") ?? URL(filePath: "/")),
        Media(URL(filePath: "/music/three.ogg")),
      ]
      state.player.queue.append(media)
      state.player.queue.jump(to: state.player.queue.items[1].id)
      state.player.status = .playing
      state.player.wantsToPlay = true
      (state.player.position, state.player.duration) = (.seconds(30), .seconds(120))
      state.player.volume = 0.55
      return state
    }()

    private static func id(_ index: Int) -> PlayQueue.Item.ID {
      playing.player.queue.items[index].id
    }

    private static let film: ControlState = {
      var state = playing
      state.canShowVideo = true
      state.player.tracks = MediaTracks(
        [
          MediaTrack(.init(.video, 1), codec: "h264"), MediaTrack(.init(.audio, 1)),
          MediaTrack(.init(.audio, 2), language: "de", isDefault: true),
          MediaTrack(.init(.subtitle, 1), title: "Signs", isForced: true, isExternal: true),
        ], selected: [.init(.video, 1), .init(.audio, 1)])
      return state
    }()

    private func value(_ name: String, _ state: ControlState = playing) throws -> String? {
      state.value(of: try #require(ControlProperty(rawValue: name)))?.json
    }

    @Test(
      arguments: [
        ("pause", "false"), ("volume", "55.0"), ("mute", "false"), ("speed", "1.0"),
        ("time-pos", "30.0"), ("percent-pos", "25.0"), ("duration", "120.0"),
        ("playlist-pos", "1"), ("playlist-pos-1", "2"), ("playlist-count", "3"),
        ("media-title", #""two.ogg""#),
        ("path", #""https://example.org/two.ogg?a=b""#), ("loop-playlist", "false"),
        ("loop-file", "false"), ("shuffle", "false"), ("track-list", "[]"), ("aid", "false"),
        ("idle-active", "false"), ("fullscreen", nil), ("audio-device", #""auto""#),
        ("audio-device-list", nil),
      ] as [(String, String?)])
    func `A property has its value`(_ name: String, _ expected: String?) throws {
      #expect(try value(name) == expected)
    }

    @Test(
      arguments: [
        ("pause", "true"), ("time-pos", nil), ("percent-pos", nil), ("duration", nil),
        ("playlist-pos", "-1"), ("playlist", "[]"), ("media-title", nil), ("path", nil),
        ("idle-active", "true"),
      ] as [(String, String?)])
    func `Without an item, a property has no value or an empty one`(
      _ name: String, _ expected: String?
    ) throws {
      #expect(try value(name, ControlState()) == expected)
    }

    @Test func `The playlist has paths without credentials and marks the current item`() throws {
      let playlist = try #require(try value("playlist"))
      #expect(
        playlist
          == #"[{"filename":"/music/one.ogg","id":0,"title":"One"},"#
          + #"{"current":true,"filename":"https://example.org/two.ogg?a=b","id":1,"playing":true},"#
          + #"{"filename":"/music/three.ogg","id":2}]"#)
      for property in ControlProperty.allCases {
        #expect(Self.playing.value(of: property)?.json.contains("secret") != true)
      }
    }

    @Test func `Tracks are listed with the selected ones`() throws {
      #expect(try value("aid", Self.film) == "1")
      #expect(try value("sid", Self.film) == "false")
      #expect(try value("vid", Self.film) == "1")
      let tracks = try #require(try value("track-list", Self.film))
      #expect(tracks.contains(#""codec":"h264""#) && tracks.contains(#""type":"sub""#))
      #expect(tracks.contains(#""lang":"de""#))
      var hidden = Self.film
      hidden.player.showsVideo = false
      #expect(try value("vid", hidden) == "false")
    }

    // MARK: Decisions

    private static func set(_ property: ControlProperty, _ value: ControlValue) -> ControlCommand {
      .set(property, value)
    }

    @Test(
      arguments: [
        (set(.pause, .bool(true)), [.pause]), (set(.pause, .string("no")), [.resume]),
        (.cycle(.pause), [.pause]), (.cycle(.mute), [.setMuted(true)]),
        (.cycle(.shuffle), [.setShuffled(true)]), (set(.volume, .integer(50)), [.setVolume(0.5)]),
        (set(.speed, .string("1.5")), [.setRate(1.5)]), (.add(.speed, 0.25), [.setRate(1.25)]),
        (set(.timePosition, .number(7.5)), [.seek(.seconds(7.5))]),
        (set(.percentPosition, .integer(50)), [.seek(.seconds(60))]),
        (set(.playlistPosition, .integer(2)), [.jump(id(2))]),
        (set(.playlistNumber, .integer(3)), [.jump(id(2))]),
        (.add(.playlistPosition, -1), [.jump(id(0))]),
        (set(.loopsPlaylist, .string("inf")), [.setRepeatMode(.all)]),
        (set(.loopsFile, .bool(true)), [.setRepeatMode(.one)]),
        (set(.loopsFile, .bool(false)), []), (.cycle(.loopsPlaylist), [.setRepeatMode(.all)]),
        (.next(isForced: false), [.next]), (.previous(isForced: false), [.seek(.zero), .previous]),
        (.playIndex(.at(0)), [.jump(id(0))]), (.playIndex(.current), [.jump(id(1))]),
        (.playIndex(.none), [.stop]), (.remove(.at(2)), [.remove(id(2))]),
        (.remove(.current), [.remove(id(1))]), (.clear, [.removeOthers]),
        (.move(0, to: 2), [.move(id(0), to: 1)]), (.move(2, to: 0), [.move(id(2), to: 0)]),
        (.move(0, to: 3), [.move(id(0), to: 2)]),
        (.seek(-5, .relative), [.skip(.seconds(-5))]),
        (.seek(90, .absolute), [.seek(.seconds(90))]),
        (.seek(-20, .absolute), [.seek(.seconds(100))]),
        (.seek(-500, .absolute), [.seek(.zero)]),
        (.seek(25, .absolutePercent), [.seek(.seconds(30))]),
        (.seek(-10, .relativePercent), [.skip(.seconds(-12))]),
        (.stop(keepsQueue: true), [.stop]), (.stop(keepsQueue: false), [.removeAll]),
      ] as [(ControlCommand, [PlayerCommand])])
    func `An action becomes commands of the player`(
      _ action: ControlCommand, _ expected: [PlayerCommand]
    ) throws {
      #expect(try Self.playing.decide(action) == .player(expected))
    }

    @Test(
      arguments: [
        (set(.aid, .integer(2)), [.select(.init(.audio, 2), .audio)]),
        (set(.aid, .string("auto")), [.select(.init(.audio, 2), .audio)]),
        (.cycle(.aid), [.select(.init(.audio, 2), .audio)]),
        (set(.sid, .string("1")), [.select(.init(.subtitle, 1), .subtitle)]),
        (set(.sid, .bool(false)), [.select(nil, .subtitle)]),
        (.cycle(.sid), [.select(.init(.subtitle, 1), .subtitle)]),
        (set(.vid, .string("no")), [.setShowsVideo(false)]),
        (set(.vid, .integer(1)), [.setShowsVideo(true), .select(.init(.video, 1), .video)]),
        (.cycle(.vid), [.setShowsVideo(false)]),
      ] as [(ControlCommand, [PlayerCommand])])
    func `Tracks are selected by their numbers`(
      _ action: ControlCommand, _ expected: [PlayerCommand]
    ) throws {
      #expect(try Self.film.decide(action) == .player(expected))
    }

    @Test(arguments: [false, true])
    func `The window fills the screen only while it is open`(_ isFullscreen: Bool) throws {
      #expect(try value("fullscreen", Self.film) == nil)
      var state = Self.playing
      state.player.isFullscreen = isFullscreen
      #expect(try value("fullscreen", state) == "\(isFullscreen)")
      for (wanted, isWanted) in [(.bool(true), true), (.string("no"), false)]
        as [(ControlValue, Bool)]
      {
        #expect(
          try state.decide(.set(.fullscreen, wanted)) == .player([.setFullscreen(isWanted)]))
      }
      #expect(try state.decide(.cycle(.fullscreen)) == .toggleFullscreen)
    }

    @Test func `Other actions concern the program`() throws {
      #expect(try Self.film.decide(.cycle(.fullscreen)) == .toggleFullscreen)
      #expect(try Self.playing.decide(.quit) == .quit)
      #expect(try Self.playing.decide(.load("a", .append)) == .load("a", .append))
    }

    @Test(
      arguments: [
        (set(.pause, .integer(1)), .propertyFormat),
        (set(.volume, .string("loud")), .propertyFormat),
        (set(.volume, .integer(101)), .propertyError), (set(.speed, .integer(0)), .propertyError),
        (set(.loopsFile, .integer(3)), .propertyFormat),
        (set(.duration, .integer(1)), .propertyError),
        (set(.fullscreen, .bool(true)), .propertyError),
        (set(.fullscreen, .integer(1)), .propertyFormat), (set(.aid, .integer(9)), .propertyError),
        (set(.timePosition, .integer(-1)), .propertyError), (.cycle(.volume), .commandFailed),
        (.cycle(.fullscreen), .commandFailed), (.cycle(.aid), .commandFailed),
        (.cycle(.sid), .commandFailed), (.add(.pause, 1), .commandFailed),
        (.add(.playlistPosition, 0.5), .commandFailed), (.playIndex(.at(3)), .commandFailed),
        (set(.playlistNumber, .integer(0)), .commandFailed),
        (.playIndex(.at(-1)), .commandFailed), (.remove(.none), .commandFailed),
        (.move(3, to: 0), .commandFailed), (.move(0, to: -1), .commandFailed),
        (.seek(101, .absolutePercent), .invalidParameter),
      ] as [(ControlCommand, ControlRefusal.Fault)])
    func `An action that is not possible is refused with the reason`(
      _ action: ControlCommand, _ fault: ControlRefusal.Fault
    ) {
      do throws(ControlRefusal) {
        _ = try Self.playing.decide(action)
        Issue.record("accepted")
      } catch {
        #expect(error.fault == fault && error.message.hasSuffix("."))
      }
    }

    @Test func `Nothing seeks without an item, in a live stream, or beyond the ends`() {
      #expect(throws: ControlRefusal.self) { try ControlState().decide(.seek(1, .relative)) }
      var live = Self.playing
      (live.player.isLive, live.player.duration) = (true, nil)
      #expect(throws: ControlRefusal.self) { try live.decide(.seek(1, .relative)) }
      #expect(throws: ControlRefusal.self) { try live.decide(.set(.timePosition, .integer(1))) }
      #expect((try? live.decide(.previous(isForced: false))) == .player([.jump(Self.id(0))]))
      var last = Self.playing
      last.player.queue.jump(to: Self.id(2))
      #expect(throws: ControlRefusal.self) { try last.decide(.next(isForced: false)) }
      #expect((try? last.decide(.next(isForced: true))) == .player([.next]))
      last.player.queue.jump(to: Self.id(0))
      #expect(throws: ControlRefusal.self) { try last.decide(.previous(isForced: false)) }
    }

    @Test(
      arguments: [
        (.seek(-60, .relative), [.skip(.seconds(-60))]),
        (.seek(90, .absolute), [.seek(.seconds(90))]),
        (.seek(-480, .absolute), [.seek(.seconds(520))]),
        (.seek(-5000, .absolute), [.seek(.zero)]),
        (set(.timePosition, .integer(400)), [.seek(.seconds(400))]),
        (.add(.timePosition, -5), [.skip(.seconds(-5))]),
        // The player itself would begin the recorded part again.
        (.previous(isForced: false), [.jump(id(0))]),
      ] as [(ControlCommand, [PlayerCommand])])
    func `Recorded live sound seeks, and counts back from the newest`(
      _ action: ControlCommand, _ expected: [PlayerCommand]
    ) throws {
      var live = Self.playing
      (live.player.isLive, live.player.duration) = (true, nil)
      live.player.liveWindow = LiveWindow(start: .seconds(300), end: .seconds(1000))
      #expect(try live.decide(action) == .player(expected))
      #expect(throws: ControlRefusal.self) { try live.decide(.seek(50, .absolutePercent)) }
      #expect(throws: ControlRefusal.self) { try live.decide(.seek(-5, .relativePercent)) }
    }

    // MARK: Observing

    @Test func `A watch reports the first value, and then changes alone`() {
      var watch = PropertyWatch(id: 1, name: "pause")
      var state = Self.playing
      let now = ContinuousClock.now
      #expect(watch.look(at: state, at: now) == .changed(.bool(false)))
      #expect(watch.look(at: state, at: now) == .same)
      state.player.position = .seconds(31)
      #expect(watch.look(at: state, at: now) == .same)
      state.player.wantsToPlay = false
      #expect(watch.look(at: state, at: now) == .changed(.bool(true)))
      #expect(
        watch.line(.bool(true)).json
          == #"{"data":true,"event":"property-change","id":1,"name":"pause"}"#)
    }

    @Test func `Positions are reported at most four times a second, the last one always`() {
      var watch = PropertyWatch(id: 1, name: "time-pos")
      var state = Self.playing
      let start = ContinuousClock.now
      var reported: [(ContinuousClock.Instant, ControlValue?)] = []
      for step in 0...100 {
        let now = start + .milliseconds(30 * step)
        if step <= 60 { state.player.position = .milliseconds(100 * step) }
        switch watch.look(at: state, at: now) {
        case .changed(let value): reported.append((now, value))
        case .later(let time): #expect(time > now && time <= now + .milliseconds(250))
        case .same: break
        }
      }
      #expect(reported.last?.1 == .number(6))
      #expect((6...9).contains(reported.count))
      for (earlier, later) in zip(reported, reported.dropFirst()) {
        #expect(later.0 - earlier.0 >= .milliseconds(250))
      }
    }

    @Test func `A property without a value, and one that does not exist, are reported without`() {
      var watch = PropertyWatch(id: 1, name: "path")
      let now = ContinuousClock.now
      #expect(watch.look(at: ControlState(), at: now) == .changed(nil))
      #expect(watch.line(nil).json == #"{"event":"property-change","id":1,"name":"path"}"#)
      #expect(
        watch.look(at: Self.playing, at: now)
          == .changed(.string("https://example.org/two.ogg?a=b")))
      var unknown = PropertyWatch(id: 2, name: "nonsense")
      #expect(unknown.look(at: ControlState(), at: now) == .changed(nil))
      #expect(unknown.look(at: Self.playing, at: now) == .same)
    }

    @Test func `Every property that differs is reported as changed`() {
      for property in ControlProperty.allCases {
        let (empty, full) = (ControlState(), Self.film)
        #expect(
          full.hasSame(property, as: empty)
            == (full.value(of: property) == empty.value(of: property)),
          "\(property)")
        #expect(full.hasSame(property, as: full))
      }
    }
  }
#endif
