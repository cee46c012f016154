// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  /// Properties of the item, its chapters and the program, without a player.
  struct ControlDetailsTests {
    /// A podcast's episode, a minute into its second chapter.
    private static let episode: ControlState = {
      var state = ControlState()
      var media = Media(
        URL(string: "https://user:secret@example.org/a/An%20episode.v2.mp3?token=x")
          ?? URL(filePath: "/"), title: "From the feed", artist: "Somebody")
      media.chapters = [
        Media.Chapter(start: .seconds(10), title: "One"), Media.Chapter(start: .seconds(100)),
        Media.Chapter(start: .seconds(300), title: "Three"),
      ]
      state.player.queue.append([media, Media(URL(filePath: "/b.ogg"))])
      state.player.queue.jump(to: state.player.queue.items[0].id)
      state.player.status = .playing
      state.player.wantsToPlay = true
      (state.player.position, state.player.duration) = (.seconds(160), .seconds(400))
      state.player.rate = 2
      state.player.metadata = MediaMetadata(title: "An episode", station: "Radio")
      return state
    }()

    private static func playing(at seconds: Int) -> ControlState {
      var state = episode
      state.player.position = .seconds(seconds)
      return state
    }

    private func value(_ name: String, _ state: ControlState = episode) throws -> String? {
      state.value(of: try #require(ControlProperty(name)))?.json
    }

    @Test func `The metadata of a part are those that its list states`() throws {
      var state = Self.episode
      state.player.queue.items[0].media.part = Media.Part(start: .seconds(30))
      #expect(
        try value("metadata", state)
          == #"{"artist":"Somebody","icy-name":"Radio","title":"From the feed"}"#)
      #expect(try value("media-title", state) == #""From the feed""#)
    }

    @Test(
      arguments: [
        ("metadata", #"{"artist":"Somebody","icy-name":"Radio","title":"An episode"}"#),
        ("filename", #""An episode.v2.mp3""#), ("filename/no-ext", #""An episode.v2""#),
        ("playback-time", "160.0"), ("time-remaining", "240.0"), ("playtime-remaining", "120.0"),
        ("seekable", "true"), ("seeking", "false"), ("paused-for-cache", "false"),
        ("eof-reached", "false"), ("core-idle", "false"), ("chapter", "1"), ("chapters", "3"),
        (
          "chapter-list",
          #"[{"time":10.0,"title":"One"},{"time":100.0},{"time":300.0,"title":"Three"}]"#
        ),
        ("volume-max", "100.0"), ("mpv-version", #""refrain 0.1.0""#),
        ("pid", "\(ProcessInfo.processInfo.processIdentifier)"), ("sub", "false"),
        ("loop", "false"),
      ] as [(String, String?)])
    func `A property has mpv's type`(_ name: String, _ expected: String?) throws {
      #expect(try value(name) == expected)
    }

    @Test(
      arguments: [
        ("metadata", nil), ("filename", nil), ("filename/no-ext", nil), ("playback-time", nil),
        ("time-remaining", nil), ("playtime-remaining", nil), ("seekable", nil), ("seeking", nil),
        ("paused-for-cache", nil), ("eof-reached", nil), ("core-idle", "true"), ("chapter", nil),
        ("chapters", nil), ("chapter-list", "[]"),
      ] as [(String, String?)])
    func `Without an item, a property has no value or an empty one`(
      _ name: String, _ expected: String?
    ) throws {
      #expect(try value(name, ControlState()) == expected)
    }

    @Test func `What waits, has ended or is live is known by its properties`() throws {
      var state = Self.episode
      state.player.status = .buffering(.bytes)
      #expect(try value("paused-for-cache", state) == "true")
      #expect(try value("core-idle", state) == "true")
      state.player.status = .buffering(.seek)
      #expect(try value("paused-for-cache", state) == "false")
      #expect(try value("seeking", state) == "true")
      state.player.status = .ended
      #expect(try value("eof-reached", state) == "true")
      #expect(try value("seekable", state) == nil)
      state = Self.episode
      (state.player.isLive, state.player.duration) = (true, nil)
      #expect(try value("seekable", state) == "false")
      #expect(try value("time-remaining", state) == nil)
      state.player.liveWindow = LiveWindow(start: .seconds(1), end: .seconds(200))
      #expect(try value("seekable", state) == "true")
    }

    @Test(
      arguments: [
        ("metadata/by-key/Title", #""An episode""#), ("metadata/artist", #""Somebody""#),
        ("metadata/by-key/genre", nil), ("chapter-list/count", "3"),
        ("chapter-list/2/title", #""Three""#), ("chapter-list/1/title", nil),
        ("chapter-list/3/time", nil), ("playlist/count", "2"), ("playlist/-1/id", nil),
        ("playlist/1/filename", #""/b.ogg""#), ("playlist/0/current", "true"),
        ("playlist/1", #"{"filename":"/b.ogg","id":1}"#), ("playlist/0/filename/count", nil),
        ("track-list/count", "0"),
      ] as [(String, String?)])
    func `A part of a property has its value`(_ name: String, _ expected: String?) throws {
      let part = try #require(ControlPropertyPart(name))
      #expect(Self.episode.value(of: part)?.json == expected)
    }

    @Test(arguments: ["playlist", "filename/no-ext", "volume/max", "nonsense/count", "/", ""])
    func `Other names are of no part`(_ name: String) {
      #expect(ControlPropertyPart(name) == nil)
    }

    @Test func `A part is observed, and reported when it changes itself`() {
      var watch = PropertyWatch(id: 1, name: "playlist/count")
      let now = ContinuousClock.now
      var state = Self.episode
      #expect(watch.look(at: state, at: now) == .changed(.integer(2)))
      state.player.queue.jump(to: state.player.queue.items[1].id)
      #expect(watch.look(at: state, at: now) == .same)
      state.player.queue.append([Media(URL(filePath: "/c.ogg"))])
      #expect(watch.look(at: state, at: now) == .changed(.integer(3)))
    }

    @Test func `Every property and every command is listed`() throws {
      let properties = try #require(try value("property-list"))
      for property in ControlProperty.allCases {
        #expect(properties.contains("\"\(property.rawValue)\""))
        #expect(Self.episode.value(of: property)?.json.contains("secret") != true)
      }
      #expect(try value("command-list")?.contains(#"{"name":"playlist-shuffle"}"#) == true)
    }

    @Test func `Values are written as mpv writes its own`() {
      let values: [(ControlValue, String)] = [
        (.bool(true), "yes"), (.bool(false), "no"), (.number(50), "50.000000"),
        (.integer(-1), "-1"),
        (.string("inf"), "inf"), (.array([.integer(1)]), "[1]"), (.object([:]), "{}"),
      ]
      for (value, text) in values { #expect(value.propertyText == text) }
    }

    // MARK: Chapters

    @Test(arguments: [(0, -1), (9, -1), (10, 0), (99, 0), (100, 1), (399, 2)])
    func `The current chapter is the last one that has begun`(_ second: Int, _ index: Int) throws {
      #expect(Self.playing(at: second).currentChapter == index)
    }

    @Test func `The chapters in a file of their own count where the feed states none`() throws {
      var state = Self.episode
      state.loadedChapters = [Media.Chapter(start: .zero)]
      #expect(state.chapters.count == 3)
      state.player.queue.jump(to: state.player.queue.items[1].id)
      #expect(try value("chapter-list", state) == #"[{"time":0.0}]"#)
      #expect(try value("chapter", state) == "0")
    }

    @Test(
      arguments: [
        (.set(.chapter, .integer(2)), 160, [.seek(.seconds(300))]),
        (.set(.chapter, .string("0")), 160, [.seek(.seconds(10))]),
        (.set(.chapter, .integer(-1)), 160, [.seek(.zero)]),
        (.add(.chapter, 1), 160, [.seek(.seconds(300))]),
        // Beyond its first seconds, the chapter begins again.
        (.add(.chapter, -1), 160, [.seek(.seconds(100))]),
        (.add(.chapter, -1), 103, [.seek(.seconds(10))]),
        (.add(.chapter, -1), 12, [.seek(.zero)]), (.add(.chapter, -1), 5, [.seek(.zero)]),
        (.add(.chapter, 1), 5, [.seek(.seconds(10))]), (.add(.chapter, 1), 350, [.next]),
        (.set(.playbackTime, .integer(7)), 160, [.seek(.seconds(7))]),
        (.add(.playbackTime, 5), 160, [.skip(.seconds(5))]),
        (.multiply(.speed, 0.5), 160, [.setRate(1)]),
        (.multiply(.volume, 0.5), 160, [.setVolume(0.5)]),
        (.shuffle, 160, [.setShuffled(true)]), (.unshuffle, 160, [.setShuffled(false)]),
      ] as [(ControlCommand, Int, [PlayerCommand])])
    func `An action becomes commands of the player`(
      _ action: ControlCommand, _ second: Int, _ expected: [PlayerCommand]
    ) throws {
      #expect(try Self.playing(at: second).decide(action) == .player(expected))
    }

    @Test func `A shuffled queue is shuffled in another order, and a line is for the screen`()
      throws
    {
      var state = Self.episode
      state.player.queue.setShuffled(true)
      #expect(
        try state.decide(.shuffle) == .player([.setShuffled(false), .setShuffled(true)]))
      #expect(try state.decide(.show("hello")) == .show("hello"))
    }

    @Test(
      arguments: [
        (.set(.chapter, .integer(3)), .propertyError),
        (.set(.chapter, .integer(-2)), .propertyError),
        (.set(.chapter, .string("x")), .propertyFormat), (.add(.chapter, 0.5), .commandFailed),
        (.multiply(.mute, 2), .commandFailed), (.set(.metadata, .null), .propertyError),
        (.set(.processID, .integer(1)), .propertyError),
      ] as [(ControlCommand, ControlRefusal.Fault)])
    func `An action that is not possible is refused with the reason`(
      _ action: ControlCommand, _ fault: ControlRefusal.Fault
    ) {
      do throws(ControlRefusal) {
        _ = try Self.episode.decide(action)
        Issue.record("accepted")
      } catch {
        #expect(error.fault == fault && error.message.hasSuffix("."))
      }
    }

    @Test func `Without chapters, none is sought`() {
      var state = Self.episode
      state.player.queue.jump(to: state.player.queue.items[1].id)
      #expect(throws: ControlRefusal.self) { try state.decide(.set(.chapter, .integer(0))) }
      #expect(throws: ControlRefusal.self) { try state.decide(.add(.chapter, 1)) }
    }
  }
#endif
