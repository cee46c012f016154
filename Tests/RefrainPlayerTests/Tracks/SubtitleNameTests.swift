// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainPlayer

/// The title and the language in the name of a subtitle's file.
struct SubtitleNameTests {
  @Test(
    arguments: [
      ("film.de.srt", "de"), ("film.DE.srt", "de"), ("film.ger.vtt", "ger"),
      ("film.pt-BR.srt", "pt-BR"), ("film.zh-Hans.ass", "zh-Hans"), ("film.es-419.srt", "es-419"),
      ("film (fr).srt", "fr"), ("film[en-US].srt", "en-US"), ("film.de .srt", "de"),
      ("film.en.forced.srt", "en"), ("film.en.sdh.srt", "en"), ("film.en.hi.srt", "en"),
      ("film.hi.srt", "hi"), ("a.film.de.srt", "de"), ("film.en.sdh.forced.srt", "en"),
      ("film.en (CC).srt", "en"), ("film.forced.en.srt", "en"),
    ])
  func `A name states its language before its extension`(_ name: String, _ language: String) {
    #expect(SubtitleName.language(in: name) == language)
  }

  @Test(
    arguments: [
      "film.srt", "film", "", "/", ".srt", ".de.srt", "de.srt", "(de).srt", "film.d.srt",
      "film.deut.srt", "film.00.srt", "film.d3.srt", "film.dé.srt", "film.de-.srt",
      "film.-de.srt", "film.de-toolongtag.srt", "film.cc.srt", "film.sdh.srt", "film.forced.srt",
      "film de).srt", "film..srt", "film.de-a-b-c-d.srt",
    ])
  func `Other names state none`(_ name: String) {
    #expect(SubtitleName.language(in: name) == nil)
  }

  @Test func `A name marks a forced subtitle`() throws {
    for path in ["/film.forced.srt", "/film.en.Forced.srt", "/film.forced.en.srt"] {
      #expect(try name(path).isForced, "\(path)")
    }
    for path in ["/film.en.srt", "/forced.srt", "/forced.film.srt"] {
      #expect(try !name(path).isForced, "\(path)")
    }
  }

  private func name(_ path: String) throws -> SubtitleName {
    SubtitleName(of: try #require(URL(string: "https://me:secret@h\(path)")))
  }

  @Test func `The title is the decoded name of the file, on one line`() throws {
    let name = try name("/films/Der%20Film%20%C3%BC.de.srt?token=secret#t")
    #expect(name.title == "Der Film ü.de.srt" && name.language == "de")
    #expect(name.addressPart == "Der Film ü.de.srt")
    #expect(try self.name("/a%0A%1B%5Bb.srt").title == "a  [b.srt")
    for path in ["", "/"] {
      let none = try self.name(path)
      #expect(none.title == nil && none.addressPart == nil && none.language == nil)
    }
  }

  @Test func `A long name keeps both ends, with its language`() throws {
    let name = try name("/\(String(repeating: "x", count: 300)).pt-BR.srt")
    let title = try #require(name.title)
    #expect(title.count == 80 && title.hasPrefix("xxx") && title.hasSuffix(".pt-BR.srt"))
    #expect(name.language == "pt-BR")
  }

  @Test func `An address has no marks that a program interprets`() throws {
    #expect(try name("/a:b,c%25d'e%22.srt").addressPart == "a_b_c_d_e_.srt")
  }

  @Test func `The first track in a language is found under each of its codes`() {
    func track(_ number: Int, _ language: String?) -> MediaTrack {
      MediaTrack(.init(.subtitle, number), language: language)
    }
    let tracks = [track(1, nil), track(2, "en"), track(3, "pt"), track(4, "pt-BR"), track(5, "de")]
    func found(_ language: String) -> Int? {
      TrackLanguages.track(in: language, among: tracks)?.id.number
    }
    #expect(found("ger") == 5 && found("de-AT") == 5 && found("eng") == 2)
    #expect(found("pt-BR") == 4 && found("por") == 3)
    #expect(found("fr") == nil && found("") == nil && found("und") == nil)
  }
}

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
