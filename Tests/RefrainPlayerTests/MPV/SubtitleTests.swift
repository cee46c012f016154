// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Subtitles of other resources than the media, which an item names, or which are beside it.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct SubtitleTests {
    /// Loads an item, paused at its start, and returns the subtitles that were found.
    private func subtitles(of media: Media, in referee: EngineReferee) async throws -> [MediaTrack]
    {
      let item = referee.load(media, isPaused: true)
      try await referee.waitUntilReady(item)
      return referee.tracks.last?.tracks(of: .subtitle) ?? []
    }

    @Test func `Subtitles have the titles and languages of their files, and those are preferred`()
      async throws
    {
      try await Listening.with { listening in
        var media = try listening.file("film.wav", tenths: 10)
        for path in ["/film.srt", "/film.de.srt", "/signs.srt"] {
          media.subtitles.append(.init(listening.serveSubtitle(path)))
        }
        media.subtitles.append(.init(try listening.writeSubtitle("other.fr.srt")))
        (media.subtitles[2].title, media.subtitles[2].language) = ("Signs", "en")

        let referee = try await listening.referee(.window)
        let preferred: [(language: String?, number: Int)] = [("ger", 2), ("en", 3), (nil, 1)]
        for (language, number) in preferred {
          referee.engine.prefer(TrackLanguages(subtitle: language))
          let found = try await subtitles(of: media, in: referee)
          #expect(found.map(\.title) == ["film.srt", "film.de.srt", "Signs", "other.fr.srt"])
          #expect(found.map(\.language) == [nil, "de", "en", "fr"])
          try await eventually("\(number) is selected") {
            referee.selected?.contains(.init(.subtitle, number)) == true
          }
        }
        await referee.close()
        #expect(referee.violations == [] && referee.requests == [])
      }
    }

    @Test func `Each subtitle is shown or reported, and receives only its headers`() async throws {
      try await Listening.with { listening in
        let origin = listening.origin
        let page = "<html>Not found</html>"
        let bad = [
          listening.directory.appending(path: "missing.srt"),
          try listening.writeSubtitle("page.srt", page), origin.url("/missing.srt"),
          listening.serveSubtitle("/page.srt", page),
        ]
        let locked = listening.serveSubtitle(
          "/locked.srt", requiring: Field("Authorization", "Bearer key"))
        var media = try listening.file("film.wav", tenths: 10)
        media.headers = ["X-Film": "1"]
        media.subtitles = (bad + [try listening.writeSubtitle("good.srt")]).map { .init($0) }
        media.subtitles.append(.init(locked, headers: ["Authorization": "Bearer key"]))

        let referee = try await listening.referee(.window)
        let item = referee.load(media)
        try await referee.waitUntilOver(item)
        await referee.close()
        var failed: [URL] = []
        for case .subtitleFailed(item, let url, let error) in referee.events {
          failed.append(url)
          #expect(url != bad[2] || error.status == 404)
        }
        #expect(failed == bad && origin.log("/missing.srt").requests.count == 1)
        #expect(referee.tracks.last?.tracks(of: .subtitle).count == 2)
        func names(_ path: String) -> Set<String> {
          Set(origin.log(path).requests.flatMap(\.request.headers).map { $0.name.lowercased() })
        }
        #expect(names("/locked.srt").contains("authorization"))
        #expect(!names("/locked.srt").contains("x-film"))
        #expect(!names("/page.srt").isEmpty)
        #expect(names("/page.srt").isDisjoint(with: ["authorization", "x-film"]))
      }
    }

    // MARK: Files beside a local one, which no item names

    @Test func `Files with the name of the media are found, and can be selected`() async throws {
      try await Listening.with { listening in
        for name in ["film.srt", "film.de.srt", "filmstrip.srt", "other.srt"] {
          try listening.writeSubtitle(name)
        }
        let referee = try await listening.referee(.window)
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
          try listening.writeSubtitle(name)
        }
        let referee = try await listening.referee(.window)
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
        let all = try await subtitles(of: media, in: referee)
        #expect(all.map(\.language) == ["pt-BR", "de", "en", "en"])
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
        listening.serveSubtitle("/tune.srt")
        let referee = try await listening.referee(.window)
        #expect(try await subtitles(of: listening.media, in: referee).isEmpty)
        await referee.close()
        #expect(listening.origin.log("/tune.srt").requests.isEmpty)
      }
    }
  }
#endif
