// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Subtitles that no item names: those in files beside a local one.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct LocalSubtitleTests {
    /// Loads an item, paused at its start, and returns the subtitles that were found.
    private func subtitles(of media: Media, in referee: EngineReferee) async throws -> [MediaTrack]
    {
      let item = referee.load(media, isPaused: true)
      try await eventually("it is ready") { referee.isReady(item) }
      return referee.tracks.last?.tracks(of: .subtitle) ?? []
    }

    private func referee(_ listening: Listening) async throws -> EngineReferee {
      EngineReferee(try await MPVEngine(cache: listening.cache, output: .silent, video: .window))
    }

    @Test func `Files with the name of the media are found, and can be selected`() async throws {
      try await Listening.with { listening in
        for name in ["film.srt", "film.de.srt", "filmstrip.srt", "other.srt"] {
          let file = listening.directory.appending(path: name)
          try SubtitleTests.text.write(to: file, atomically: true, encoding: .utf8)
        }
        let referee = try await referee(listening)
        let media = try listening.file("film.wav", tenths: 10)
        let found = try await subtitles(of: media, in: referee)
        #expect(found.count == 2 && found.allSatisfy(\.isExternal), "\(found)")
        #expect(found.count { $0.language == "de" } == 1, "\(found)")

        let sound = MediaTrack.ID(.audio, 1)
        for track in found.map(\.id) {
          referee.engine.select(track, of: .subtitle)
          try await eventually("\(track) is selected") { referee.selected == [sound, track] }
        }
        referee.engine.select(nil, of: .subtitle)
        try await eventually("none is selected") { referee.selected == [sound] }
        await referee.close()
        #expect(referee.violations == [])
      }
    }

    @Test func `All languages and marks are found, and a full subtitle precedes a forced one`()
      async throws
    {
      try await Listening.with { listening in
        for name in ["film.en.forced.srt", "film.en.srt", "film.pt-BR.sdh.srt", "film.de.srt"] {
          let file = listening.directory.appending(path: name)
          try SubtitleTests.text.write(to: file, atomically: true, encoding: .utf8)
        }
        let referee = try await referee(listening)
        var media = try listening.file("film.wav", tenths: 10)
        referee.engine.prefer(TrackLanguages(subtitle: "en"))
        let found = try await subtitles(of: media, in: referee)
        #expect(found.map(\.language) == ["de", "en", "pt-BR", "en"])
        #expect(found.map(\.isForced) == [false, false, false, true])
        try await eventually("the full one is selected") {
          referee.selected?.contains(.init(.subtitle, 2)) == true
        }

        // Given ones come first, and none is there twice.
        media.subtitles = [.init(listening.directory.appending(path: "film.pt-BR.sdh.srt"))]
        let item = referee.load(media, isPaused: true)
        try await eventually("it is ready") { referee.isReady(item) }
        let tracks = referee.tracks.last?.tracks(of: .subtitle) ?? []
        #expect(tracks.map(\.language) == ["pt-BR", "de", "en", "en"])
        await referee.close()
        #expect(referee.violations == [])
      }
    }

    @Test func `The listener's language selects one of the file rather than another beside it`() {
      let german = MPVSubtitle(
        subtitle: .init(URL(filePath: "/film.de.srt")), address: "/film.de.srt", isFound: true)
      var given = german
      given.isFound = false
      let tracks = MediaTracks([
        MediaTrack(.init(.subtitle, 1), language: "en", isForced: true),
        MediaTrack(.init(.subtitle, 2), language: "en"),
        MediaTrack(.init(.subtitle, 3), language: "de", isExternal: true),
      ])
      let files = [MediaTrack.ID(.subtitle, 3): "/film.de.srt"]
      func numbers(_ subtitles: [MPVSubtitle]) -> [Int] {
        tracks.candidates(among: subtitles, opened: files).map(\.id.number)
      }
      #expect(numbers([german]) == [3, 2, 1])
      // What the listener has given takes precedence over everything, and libmpv selects it.
      #expect(numbers([given]) == [3])
      #expect(numbers([]).isEmpty)
    }

    @Test func `Nothing is looked for beside a URL`() async throws {
      try await Listening.with { listening in
        listening.origin.serve(
          OriginResource(.bytes(SubtitleTests.text.utf8), contentType: "text/plain"),
          at: "/tune.srt")
        let referee = try await referee(listening)
        #expect(try await subtitles(of: listening.media, in: referee).isEmpty)
        await referee.close()
        #expect(listening.origin.log("/tune.srt").requests.isEmpty)
      }
    }
  }
#endif
