// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// The names of the subtitles beside a media file.
struct SidecarSubtitlesTests {
  @Test(
    arguments: [
      "film.srt", "film.de.srt", "film.DE.VTT", "FILM.srt", "film .srt", "film.pt-BR.ass",
      "film (fr).srt", "film[en-US].srt", "film.forced.srt", "film.en.forced.srt",
      "film.forced.en.srt", "film.en.sdh.srt", "film.en.CC.srt", "film.ja.hi.vtt",
      "film.en.sdh.forced.srt", "film.idx",
    ])
  func `A name with a language and marks is found`(_ name: String) {
    #expect(SidecarSubtitles.of("film.mkv", among: ["other.srt", name, "film.mkv"]) == [name])
  }

  @Test(
    arguments: [
      "film.mkv", "film.jpg", "film", "film.", ".srt", "filmstrip.srt", "film2.srt", "film.2.srt",
      "film.commentary.srt", "film.en.de.srt", "my film.srt", "de.srt", "film.srt.bak", "(de).srt",
    ])
  func `Other names are not`(_ name: String) {
    #expect(SidecarSubtitles.of("film.mkv", among: [name]).isEmpty)
  }

  @Test func `The name without additions comes first, and forced ones come last`() {
    let names = [
      "film.en.forced.srt", "film.en.sdh.srt", "film.fr.srt", "film.de.srt", "film.srt",
    ]
    let order = [
      "film.srt", "film.de.srt", "film.fr.srt", "film.en.sdh.srt", "film.en.forced.srt",
    ]
    #expect(SidecarSubtitles.of("film.mkv", among: names) == order)
    #expect(SidecarSubtitles.of("film.mkv", among: names.reversed()) == order)
  }

  @Test func `The name of the media may itself end like that of a subtitle`() {
    let names = ["film.srt", "film.en.srt", "film.en.de.srt", "film.en.forced.srt"]
    let found = ["film.en.srt", "film.en.de.srt", "film.en.forced.srt"]
    #expect(SidecarSubtitles.of("film.en.mkv", among: names) == found)
    #expect(SidecarSubtitles.of("film", among: names) == ["film.srt", "film.en.srt", names[3]])
    #expect(SidecarSubtitles.of("", among: names + [".srt"]).isEmpty)
  }

  @Test func `The index of a subtitle in two files stands for both`() {
    let names = ["film.sub", "film.de.sub", "film.de.idx"]
    #expect(SidecarSubtitles.of("film.mkv", among: names) == ["film.sub", "film.de.idx"])
  }
}
