// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The choice of a variant and its renditions. Pure.
struct StreamDownloadChoiceTests {
  private static let text = """
    #EXTM3U
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,URI="de.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en-US",URI="en.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="b",NAME="English",LANGUAGE="en",URI="other.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="c",NAME="One",URI="one.m3u8"
    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="c",NAME="Two",AUTOSELECT=YES,URI="two.m3u8"
    #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="de",LANGUAGE="de",DEFAULT=YES,URI="sde.m3u8"
    #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="en",LANGUAGE="en",URI="sen.m3u8"
    #EXT-X-STREAM-INF:BANDWIDTH=900000,RESOLUTION=640x360,AUDIO="a",SUBTITLES="s"
    360.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=3500000,RESOLUTION=1280x720,AUDIO="a",SUBTITLES="s"
    720.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=2500000,RESOLUTION=1280x720,AUDIO="a",SUBTITLES="s"
    720low.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=6000000,RESOLUTION=1920x1080,AUDIO="c"
    1080.m3u8
    #EXT-X-STREAM-INF:BANDWIDTH=64000,AUDIO="b"
    sound.m3u8

    """

  private static let url = URL(filePath: "/main.m3u8")

  private static func playlist(_ text: String = text) throws -> HLSMultivariantPlaylist {
    try #require(HLSMultivariantPlaylist(Array(text.utf8), url: url))
  }

  @Test(arguments: [
    (StreamChoice.Quality.best, "1080.m3u8"), (.worst, "360.m3u8"), (.height(720), "720.m3u8"),
    (.height(1000), "720.m3u8"), (.height(4000), "1080.m3u8"), (.height(144), "360.m3u8"),
    (.bitRate(3_000_000), "720low.m3u8"), (.bitRate(3_500_000), "720.m3u8"),
    (.bitRate(100), "360.m3u8"),
  ])
  func `A quality selects the best variant that does not exceed it`(
    _ quality: StreamChoice.Quality, _ uri: String
  ) throws {
    #expect(try Self.playlist().variant(of: quality).uri == uri)
  }

  @Test func `A height needs a stream that states heights`() throws {
    let playlist = try Self.playlist(
      "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb.m3u8\n")
    #expect(try playlist.variant(of: .best).uri == "b.m3u8")
    #expect(try playlist.variant(of: .worst).uri == "a.m3u8")
    #expect(throws: MediaCacheError.self) { try playlist.variant(of: .height(720)) }
  }

  @Test(arguments: [
    (StreamChoice.Languages.standard, ["de.m3u8"]), (.all, ["de.m3u8", "en.m3u8"]),
    (.some(["EN"]), ["en.m3u8"]), (.some(["en", "de"]), ["de.m3u8", "en.m3u8"]),
  ])
  func `Languages select renditions of the variant's own group`(
    _ languages: StreamChoice.Languages, _ uris: [String]
  ) throws {
    let playlist = try Self.playlist()
    var choice = StreamChoice()
    choice.audio = languages
    let variant = try playlist.variant(of: .height(720))
    #expect(try playlist.renditions(of: variant, choice).compactMap(\.uri) == uris)
  }

  @Test func `Without a default rendition, the first automatic one is selected`() throws {
    let playlist = try Self.playlist()
    let variant = try playlist.variant(of: .best)
    #expect(
      try playlist.renditions(of: variant, StreamChoice()).compactMap(\.uri) == ["two.m3u8"])
  }

  // MARK: Groups

  @Test func `Attributes of groups without renditions are removed, all other bytes stay`() throws {
    let list = """
      #EXTM3U\r
      #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="en",URI="sen.m3u8"\r
      #EXT-X-STREAM-INF:AUDIO="a",BANDWIDTH=1,CODECS="x,y",SUBTITLES="s",VIDEO="v"\r
      a.m3u8\r
      #EXT-X-STREAM-INF:BANDWIDTH=1,SUBTITLES="s"\r
      b.m3u8\r

      """
    #expect(
      try Self.edited(list)
        == list.replacing(
          "AUDIO=\"a\",BANDWIDTH=1,CODECS=\"x,y\",SUBTITLES=\"s\",VIDEO=\"v\"",
          with: "BANDWIDTH=1,CODECS=\"x,y\",SUBTITLES=\"s\""))
  }

  private static func edited(_ text: String) throws -> String {
    String(decoding: try playlist(text).removingEmptyGroups(Array(text.utf8)), as: UTF8.self)
  }
}
