// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Subtitles of other resources than the media.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct SubtitleTests {
    nonisolated static let text = "1\n00:00:00,000 --> 00:00:09,000\nHello\n"

    @Test func `Subtitles have the titles and languages of their files, and those are preferred`()
      async throws
    {
      try await Listening.with { listening in
        var media = try listening.file("film.wav", tenths: 10)
        for path in ["/film.srt", "/film.de.srt", "/signs.srt"] {
          listening.origin.serve(
            OriginResource(.bytes(Self.text.utf8), contentType: "text/plain"), at: path)
          media.subtitles.append(.init(listening.origin.url(path)))
        }
        let file = listening.directory.appending(path: "other.fr.srt")
        try Self.text.write(to: file, atomically: true, encoding: .utf8)
        media.subtitles.append(.init(file))
        (media.subtitles[2].title, media.subtitles[2].language) = ("Signs", "en")

        let referee = EngineReferee(
          try await MPVEngine(cache: listening.cache, output: .silent, video: .window))
        let preferred: [(language: String?, number: Int)] = [("ger", 2), ("en", 3), (nil, 1)]
        for (language, number) in preferred {
          referee.engine.prefer(TrackLanguages(subtitle: language))
          let item = referee.load(media, isPaused: true)
          try await eventually("it is ready") { referee.isReady(item) }
          let tracks = try #require(referee.tracks.last)
          let found = tracks.tracks(of: .subtitle)
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
        let key = Field("Authorization", "Bearer key")
        func serve(_ path: String, _ content: OriginContent, key: Field? = nil) -> URL {
          origin.serve(
            OriginResource(content, contentType: "text/plain", requiredHeader: key), at: path)
          return origin.url(path)
        }
        func file(_ name: String, _ text: String) throws -> URL {
          let file = listening.directory.appending(path: name)
          try text.write(to: file, atomically: true, encoding: .utf8)
          return file
        }
        let page = "<html>Not found</html>"
        let bad = [
          listening.directory.appending(path: "missing.srt"), try file("page.srt", page),
          origin.url("/missing.srt"), serve("/page.srt", .bytes(page.utf8)),
        ]
        let locked = serve("/locked.srt", .bytes(Self.text.utf8), key: key)
        var media = try listening.file("film.wav", tenths: 10)
        media.headers = ["X-Film": "1"]
        media.subtitles = (bad + [try file("good.srt", Self.text)]).map { .init($0) }
        media.subtitles.append(.init(locked, headers: ["Authorization": "Bearer key"]))

        let referee = EngineReferee(
          try await MPVEngine(cache: listening.cache, output: .silent, video: .window))
        let item = referee.load(media)
        try await eventually("it ends") { referee.isOver(item) }
        await referee.close()
        let failed = referee.events.compactMap { event -> URL? in
          if case .subtitleFailed(item, let url, _) = event { url } else { nil }
        }
        #expect(failed == bad)
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
  }
#endif
