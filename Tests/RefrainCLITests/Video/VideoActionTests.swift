// SPDX-License-Identifier: MIT
#if os(Linux)
  import ArgumentParser
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainCLI
  @testable import RefrainPlayer

  struct VideoActionTests {
    @Test(
      arguments: [
        ("SPACE", .toggle), ("n", .next), ("p", .previous), ("LEFT", .seek(-5)),
        ("Shift+RIGHT", .seek(60)), ("Ctrl+LEFT", .seek(-60)), ("0", .jump(0)), ("9", .jump(9)),
        ("HOME", .jump(0)), ("m", .toggleMute), ("+", .changeVolume(0.05)),
        ("f", .toggleFullscreen), ("s", .cycleSubtitle), ("a", .cycleSound), ("v", .toggleVideo),
        ("S", .toggleShuffle),
        ("q", .quit), ("BS", .resetRate),
        ("WHEEL_UP", .changeVolume(0.05)), ("NEXT", .next), ("PLAYPAUSE", .toggle),
      ] as [(String, ScreenAction)])
    func `A key of the window has the action of the terminal`(
      _ name: String, _ action: ScreenAction
    ) {
      #expect(ScreenAction(windowKey: name) == action)
    }

    @Test(arguments: [
      "/", "?", ":", "SHARP", "", "Shift+", "F5", "TAB", "Ctrl+z", "UP", "DOWN", "PGUP", "PGDWN",
      "ENTER", "KP_ENTER", "DEL", "x", "J", "K", "g", "G", "A",
    ])
    func `Keys of the list, and others, do nothing in the window`(_ name: String) {
      #expect(ScreenAction(windowKey: name) == nil)
    }

    @Test func `A window is opened only on a display, and not for a file or for sound alone`() {
      #expect(VideoChoice(display: .x11).configuration.output == .window)
      #expect(VideoChoice(display: .wayland).configuration.output == .window)
      #expect(!VideoChoice(display: .x11).configuration.showsCovers)
      #expect(VideoChoice(showsCovers: true, display: .x11).configuration.showsCovers)
      for choice in [
        VideoChoice(), VideoChoice(isSoundOnly: true, display: .x11),
        VideoChoice(hasOutputFile: true, display: .x11),
      ] {
        #expect(choice.configuration.output == .none)
        // The panel's list of programs that play shows it.
        #expect(choice.configuration.applicationID == "refrain")
      }
    }

    @Test func `A missing display is reported only where a window would open`() {
      #expect(VideoChoice().reportsMissingDisplay)
      #expect(!VideoChoice(isSoundOnly: true).reportsMissingDisplay)
      #expect(!VideoChoice(hasOutputFile: true).reportsMissingDisplay)
      #expect(!VideoChoice(display: .x11).reportsMissingDisplay)
    }

    @Test func `Keys for pictures are refused where there are none`() {
      let noVideo = "This item has no video."
      func refusals(_ state: PlayerState) -> [String?] {
        [ScreenAction.toggleVideo, .toggleFullscreen].map {
          PlayControl.refusal(of: $0, state, canShowVideo: true)
        }
      }
      var state = PlayerState()
      #expect(refusals(state) == [noVideo, noVideo])
      state.tracks = MediaTracks([MediaTrack(.init(.video, 1), isCover: true)])
      #expect(refusals(state) == [noVideo, noVideo])
      // A cover in a window can be hidden, and shown again.
      state.video = VideoStatus(width: 1, height: 1)
      #expect(refusals(state) == [nil, nil])
      (state.video, state.showsVideo) = (nil, false)
      #expect(refusals(state) == [nil, "The video is hidden. v shows it."])
      state = PlayerState()
      state.tracks = MediaTracks([MediaTrack(.init(.video, 1))])
      #expect(refusals(state) == [nil, nil])
      #expect(PlayControl.refusal(of: .toggleVideo, state, canShowVideo: false) != nil)
    }

    @Test func `Programs learn that a video or a subtitle is not shown`() throws {
      let film = try #require(URL(string: "https://h/film.mkv"))
      let text = try #require(URL(string: "https://user:word@h/film.srt"))
      var queue = PlayQueue()
      queue.append([Media(film)])
      let item = try #require(queue.items.first)
      let hidden = try #require(PlayEvent(.video(nil), about: item.media))
      #expect(hidden.event == "video" && hidden.width == nil)
      #expect(PlayEvent(.videoUnavailable(item), about: nil)?.event == "videoUnavailable")
      let error = MediaCacheError(.unreachable, "It is gone.")
      let failed = try #require(PlayEvent(.subtitleFailed(item, text, error), about: nil))
      #expect(failed.event == "subtitleFailed" && failed.url == film.absoluteString)
      #expect(failed.subtitle == "https://h/film.srt" && failed.error != nil)
    }

    @Test(arguments: [
      ["--sub", "-"], ["--sub", "http://h/s.srt", "--audio-only"],
      ["--sub", "http://h/s.srt", "--audio-output", "o.wav"], ["--sub", "/no/such/file.srt"],
    ])
    func `A subtitle that cannot be shown is refused`(_ arguments: [String]) throws {
      #expect(throws: (any Error).self) { try PlayCommand.parse(arguments + ["http://h/film.mkv"]) }
      _ = try PlayCommand.parse(["--sub", "http://h/s.srt", "http://h/film.mkv"])
    }

    @Test func `The screen shows the video and the tracks`() {
      var model = ScreenModel()
      model.tracks.size = "1920\u{D7}1080"
      model.tracks.codec = "h264"
      model.tracks.droppedFrames = 1
      model.tracks.sound = ShownTracks.Choice(name: "deu", number: 2, count: 3)
      model.tracks.subtitle = ShownTracks.Choice(count: 4)
      func text(_ style: BarStyle, _ width: Int) -> String {
        ScreenRenderer(style).tracksLine(model.tracks, width).text
      }
      #expect(
        text(.blocks, 100)
          == "video 1920×1080 h264   1 frame dropped   sound deu (2 of 3)   subtitles off (4)")
      #expect(text(.ascii, 40) == "video 1920x1080 h264   1 frame dropped")
      model.tracks = ShownTracks()
      model.tracks.isHidden = true
      #expect(text(.blocks, 80) == "video hidden")
    }
  }
#endif
