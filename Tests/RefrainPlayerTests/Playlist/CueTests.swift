// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainPlayer

@Suite(.timeLimit(.minutes(1))) struct CueTests {
  private static let album = """
    REM GENRE Jazz
    REM DISCID 860B640B
    CATALOG 0602498743645
    PERFORMER "Nina Simone"
    TITLE "'Nuff Said!"
    FILE "Album #1 100%?.flac" WAVE
      TRACK 01 AUDIO
        TITLE "In the Morning"
        FLAGS DCP
        INDEX 00 00:00:00
        INDEX 01 00:00:33
      TRACK 02 AUDIO
        TITLE "Sunday in Savannah"
        PERFORMER "Weldon Irvine"
        INDEX 00 03:10:00
        INDEX 01 03:12:74
        INDEX 02 04:00:00
      TRACK 03 AUDIO
        INDEX 01 100:00:00
    """

  private func read(_ text: String, from origin: String = "/music/album.cue") throws -> Playlist {
    try .reading(text, from: origin)
  }

  @Test func `The tracks of one file become parts of it without gaps`() throws {
    let list = try read(Self.album)
    #expect(list.title == "'Nuff Said!" && list.skipped.isEmpty)
    #expect(list.entries.allSatisfy { $0.url.path == "/music/Album #1 100%?.flac" })
    #expect(list.titles == ["In the Morning", "Sunday in Savannah", "Track 3"])
    #expect(list.artists == ["Nina Simone", "Weldon Irvine", "Nina Simone"])
    #expect(list.entries.allSatisfy { $0.album == "'Nuff Said!" })
    let parts = try list.entries.map { try #require($0.part) }
    #expect(parts.map(\.start) == [.milliseconds(440), .microseconds(192_986_667), .seconds(6000)])
    #expect(parts.map(\.end) == [parts[1].start, parts[2].start, nil])
    #expect(
      list.entries.map(\.duration) == [
        .microseconds(192_546_667), parts[2].start - parts[1].start, nil,
      ])
  }

  @Test func `A file per track plays whole, and a pause in the file before belongs to that`() throws
  {
    let list = try read(
      """
      TITLE Live
      FILE "01.wav" WAVE
      TRACK 01 AUDIO
      INDEX 01 00:00:00
      TRACK 02 AUDIO
      INDEX 00 04:00:00
      FILE 02 of it.mp3 MP3
      INDEX 01 00:00:00
      TRACK 03 AUDIO
      INDEX 01 01:00:00
      """)
    #expect(
      list.entries.map(\.url.lastPathComponent) == ["01.wav", "02 of it.mp3", "02 of it.mp3"])
    #expect(
      list.entries.map(\.part) == [
        nil, Media.Part(end: .seconds(60)), Media.Part(start: .seconds(60)),
      ])
  }

  @Test(arguments: [
    Data([0xFF, 0xFE]) + (Self.sheet.data(using: .utf16LittleEndian) ?? Data()),
    Data([0xEF, 0xBB, 0xBF]) + Data(Self.sheet.utf8),
    Self.sheet.data(using: .windowsCP1252) ?? Data(),
    Data(Self.sheet.replacing("\n", with: "\r\n").utf8),
  ]) func `A sheet is read in any encoding, whatever its name`(_ bytes: Data) throws {
    for name in ["/a/list.cue", "/a/list.txt", "https://a.example/list?x", "/a/wrong.pls"] {
      let list = try Playlist(bytes, from: .of(name))
      #expect(list.titles == ["Füße"] && list.entries.first?.url.lastPathComponent == "Ä.flac")
    }
  }

  private static let sheet = """
    PERFORMER "X"
    FILE "Ä.flac" WAVE
    TRACK 01 AUDIO
    TITLE "Füße"
    INDEX 01 00:00:00

    """

  @Test func `A track that cannot be played is left out with the reason`() throws {
    let list = try read(
      """
      FILE "a.flac" WAVE
      TRACK 01 MODE1/2352
      INDEX 01 00:00:00
      TRACK 02 AUDIO
      INDEX 01 00:61:00
      TRACK 03 AUDIO
      TRACK 04 AUDIO
      INDEX 01 02:00:00
      TRACK 05 AUDIO
      INDEX 01 01:00:00
      FILE "disc.bin" BINARY
      TRACK 06 AUDIO
      INDEX 01 00:00:00
      FILE "ftp://h/a.flac" WAVE
      TRACK 07 AUDIO
      INDEX 01 00:00:00
      """)
    #expect(list.titles == ["Track 5"])
    #expect(
      list.skipped == [
        "Line 2: Track 1 is not sound.", "Line 4: Track 2 has an index that is not valid.",
        "Line 6: Track 3 has no index.", "Line 7: Track 4 ends before it begins.",
        "Line 12: Track 6 is in an image of a disc, which is not media.",
        "Line 15: “ftp://h/a.flac” is neither http, https nor a file.",
      ])
  }

  @Test func `A track ends where the next one begins, past any that cannot be played`() throws {
    let list = try read(
      """
      FILE "a.flac" WAVE
      TRACK 01 AUDIO
      INDEX 01 00:00:00
      TRACK 02 AUDIO
      TRACK 03 AUDIO
      INDEX 01 00:61:00
      TRACK 04 AUDIO
      INDEX 01 03:00:00
      TRACK 05 AUDIO
      FILE "b.flac" WAVE
      TRACK 06 AUDIO
      INDEX 01 00:00:00
      """)
    #expect(list.titles == ["Track 1", "Track 4", "Track 6"])
    #expect(
      list.entries.map(\.part) == [
        Media.Part(end: .seconds(180)), Media.Part(start: .seconds(180)), nil,
      ])
  }

  @Test func `A name with a colon is a file`() throws {
    let list = try read(
      """
      FILE "Act:One.flac" WAVE
      TRACK 01 AUDIO
      INDEX 01 00:00:00
      FILE "https://a.example/b.flac" WAVE
      TRACK 02 AUDIO
      INDEX 01 00:00:00
      """)
    #expect(list.entries.first?.url.path == "/music/Act:One.flac")
    #expect(list.locations.last == "https://a.example/b.flac" && list.skipped.isEmpty)
  }

  @Test func `A sheet from the network names files beside it only`() throws {
    let list = try read(
      """
      FILE "Disc 1/What? #1 50%.flac" WAVE
      TRACK 01 AUDIO
      INDEX 01 00:00:00
      FILE "file:///etc/passwd" WAVE
      TRACK 02 AUDIO
      INDEX 01 00:00:00
      """, from: "https://a.example/x/album.cue")
    #expect(list.locations == ["https://a.example/x/Disc%201/What%3F%20%231%2050%25.flac"])
    #expect(list.skipped.count == 1)
  }

  @Test(arguments: ["", "REM only\n", "FILE \"a\" WAVE\n", "TRACK 01 AUDIO\nINDEX 01 00:00:00"])
  func `A sheet without a track of a file is refused`(_ text: String) throws {
    let error = try #require(throws: MediaCacheError.self) { try read(text) }
    #expect(error.code == .invalidResponse && !error.remedy.isEmpty)
  }
}
