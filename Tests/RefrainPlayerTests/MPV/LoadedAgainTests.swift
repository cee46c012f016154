// SPDX-License-Identifier: MIT
#if os(Linux)
  import Testing

  @testable import RefrainPlayer

  /// The tracks of an item that libmpv loads again for a seek.
  struct LoadedAgainTests {
    private let item = EngineItem.ID(rawValue: 1)
    private let picture = MediaTrack.ID(.video, 1)
    private let german = MediaTrack.ID(.audio, 2)
    private let text = MediaTrack.ID(.subtitle, 3)

    private func playing(_ tracks: Set<MediaTrack.ID>) -> MPVShown {
      var shown = MPVShown()
      shown.begin(item)
      shown.hear(tracks)
      return shown
    }

    private func options(of shown: MPVShown) -> [String] {
      [MediaTrack.Kind.audio, .subtitle].map { shown.option(for: $0) }
    }

    @Test func `An item begins with the tracks that libmpv selects`() {
      var shown = MPVShown()
      shown.begin(item)
      #expect(options(of: shown) == ["auto", "auto"])
    }

    @Test func `An item begins with a subtitle given in the preferred language`() {
      let given = [
        MediaTrack(.init(.subtitle, 1), language: "en"), MediaTrack(text, language: "de"),
      ]
      var shown = MPVShown()
      shown.begin(item)
      #expect(shown.subtitleOption(given: given) == "auto")
      shown.languages = TrackLanguages(audio: "en", subtitle: "ger")
      #expect(shown.subtitleOption(given: given) == "3")
      #expect(shown.subtitleOption(given: []) == "auto")
      shown.hear([picture, german])
      shown.beginAgain()
      #expect(shown.subtitleOption(given: given) == "no")
    }

    @Test func `An item that is loaded again begins with its own tracks`() {
      var shown = playing([picture, german, text])
      shown.beginAgain()
      shown.begin(item)
      #expect(options(of: shown) == ["2", "3"])
      shown.select(nil, of: .subtitle)
      #expect(options(of: shown) == ["2", "no"])
      // Again, before it was heard.
      shown.beginAgain()
      #expect(options(of: shown) == ["2", "no"])
      shown.hear([picture, german])
      #expect(options(of: shown) == ["auto", "auto"])
      #expect(shown.selected == [picture, german])
    }

    @Test func `Without sound, the picture is loaded again, but never nothing`() {
      var film = playing([picture])
      film.beginAgain()
      #expect(options(of: film) == ["no", "no"])
      var song = playing([])
      song.beginAgain()
      #expect(options(of: song) == ["auto", "no"])
    }

    @Test func `Another item begins with the tracks that libmpv selects`() {
      var shown = playing([picture, german])
      shown.beginAgain()
      shown.begin(EngineItem.ID(rawValue: 2))
      #expect(options(of: shown) == ["auto", "auto"])
    }
  }
#endif
