// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

@Suite struct PLSTests {
  @Test func `A playlist written by SHOUTcast is read`() throws {
    let playlist = try Playlist.reading(
      """
      [playlist]
      numberofentries=2
      File1=https://ice2.example/groovesalad-128-mp3
      Title1=SomaFM: Groove Salad (#1): A nicely chilled plate
      Length1=-1
      File2=https://ice4.example/groovesalad-128-mp3
      Title2=SomaFM: Groove Salad (#2)
      Length2=-1
      Version=2
      """, from: "https://api.example/groovesalad.pls")
    #expect(
      playlist.locations == [
        "https://ice2.example/groovesalad-128-mp3", "https://ice4.example/groovesalad-128-mp3",
      ])
    #expect(playlist.titles.first == "SomaFM: Groove Salad (#1): A nicely chilled plate")
    #expect(playlist.entries.allSatisfy { $0.duration == nil && $0.artist == nil })
  }

  @Test func `Keys may have any order and case, and numbers may be missing`() throws {
    let playlist = try Playlist.reading(
      """
      ; written by hand\r
      [PlayList]\r
      LENGTH7 = 61\r
      title7 = Nina Simone - Sinnerman\r
      X-GNOME-Title=Mine\r
      file7 = music/seven.mp3\r
      File2=http://a.example/a=b.mp3?c=d\r
      Title3=of nothing\r
      [other]\r
      File1=http://a.example/no.mp3\r
      """, from: "/home/me/list.pls")
    #expect(
      playlist.locations == ["http://a.example/a=b.mp3?c=d", "file:///home/me/music/seven.mp3"])
    #expect(playlist.title == "Mine")
    #expect(playlist.entries.last?.duration == .seconds(61))
    #expect(playlist.artists == [nil, "Nina Simone"] && playlist.titles == [nil, "Sinnerman"])
  }

  @Test func `Extreme entry numbers are accepted or ignored`() throws {
    let playlist = try Playlist.reading(
      """
      [playlist]
      NumberOfEntries=99999999999999999999
      File99999999999999999999=http://a.example/1
      File9223372036854775807=http://a.example/2
      File-3=http://a.example/3
      File=http://a.example/4
      File0=http://a.example/0
      Length0=1e400
      Length9223372036854775807=nan
      """, from: "/l.pls")
    #expect(playlist.locations == ["http://a.example/0", "http://a.example/2"])
    #expect(playlist.entries.allSatisfy { $0.duration == nil })
  }

  @Test func `A PLS file without a section is refused`() throws {
    let error = try #require(throws: MediaCacheError.self) {
      try Playlist.reading("File1=http://a.example/1", from: "/list.pls")
    }
    #expect(error.code == .invalidResponse && error.reason.contains("[playlist]"))
  }
}
