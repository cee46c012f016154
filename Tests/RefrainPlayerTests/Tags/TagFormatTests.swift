// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// The tags of each format.
struct TagFormatTests {
  private typealias Samples = TagSamples

  @Test(arguments: [2, 3, 4], [TagText.Encoding.utf8, .utf16, .utf16BigEndian])
  func `ID3v2 is read in every version and encoding`(
    _ version: Int, _ encoding: TagText.Encoding
  ) {
    let file = Samples.id3(Samples.frames(version: version, encoding), version: version)
    #expect(Samples.read(file + Samples.noise(500)).tags == Samples.tags)
  }

  @Test func `A text in Latin-1 is read, and several values are joined`() {
    let frames =
      Samples.frame("TIT2", Samples.text("Größe", .latin1), version: 4)
      + Samples.frame("TPE1", Samples.text("One\0Two\0", .utf8), version: 4)
    let tags = Samples.read(Samples.id3(frames, version: 4)).tags
    #expect(tags == MediaMetadata(title: "Größe", artist: "One, Two"))
  }

  @Test(arguments: [2, 3]) func `An unsynchronized tag is read`(_ version: Int) {
    // A picture with the bytes that unsynchronization separates.
    let picture = [UInt8](repeating: 0xFF, count: 300)
    let frames =
      Samples.frame(version == 2 ? "PIC" : "APIC", picture, version: version)
      + Samples.frames(version: version, .utf16)
    let separated = frames.flatMap { $0 == 0xFF ? [0xFF, 0] : [$0] }
    let file = Samples.id3(separated, version: version, flags: 0x80)
    #expect(Samples.read(file).tags == Samples.tags)
  }

  @Test func `The extra fields of frames are skipped, and unreadable frames left out`() {
    let title = Samples.text(Samples.title, .utf16)
    let separated = title.flatMap { $0 == 0xFF ? [0xFF, 0] : [$0] }
    let frames =
      Samples.frame("TPE1", Samples.text("x", .utf8), version: 4, flags: 0x08)
      + Samples.frame("TALB", Samples.text("x", .utf8), version: 4, flags: 0x04)
      + Samples.frame("TPE2", [7] + Samples.text("Band", .utf8), version: 4, flags: 0x40)
      + Samples.frame(
        "TIT2", Samples.synchsafe(title.count) + separated, version: 4, flags: 0x03)
    let extended = Samples.synchsafe(6) + [1, 0]
    let file = Samples.id3(extended + frames, version: 4, flags: 0x40)
    #expect(Samples.read(file).tags == MediaMetadata(title: Samples.title, artist: "Band"))
  }

  @Test func `Plain sizes in a tag of version 2_4 are recognized`() {
    let long = Samples.frame("TXXX", Samples.noise(300), version: 4, safe: false)
    let file = Samples.id3(long + Samples.frames(version: 4, .utf8), version: 4)
    #expect(Samples.read(file).tags == Samples.tags)
  }

  @Test func `A large picture is skipped, not read`() {
    for file in [
      Samples.mp3(picture: 500_000), Samples.flac(picture: 500_000),
      Samples.mp4(picture: 500_000),
    ] {
      let read = Samples.read(file)
      #expect(read.tags == Samples.tags && read.bytes < 1000)
    }
  }

  @Test func `ID3v1 and tags behind the media are read only if they are stored`() {
    for file in [
      [0xFF, 0xFB] + Samples.noise(1000) + Samples.id3v1, Samples.mp4(isMovieFirst: false),
      Samples.wave(isListFirst: false),
    ] {
      #expect(Samples.read(file).tags?.artist == Samples.artist)
      let without = Samples.read(file, optional: false)
      #expect(without.tags == nil && without.bytes < 100)
    }
  }

  @Test func `FLAC is read, also behind a tag without a title`() {
    #expect(Samples.read(Samples.flac()).tags == Samples.tags)
    let empty = Samples.id3([], version: 4)
    #expect(Samples.read(empty + Samples.flac()).tags == Samples.tags)
  }

  @Test(arguments: TagSamples.Codec.allCases, [1, 255])
  func `Ogg is read, over many pages and beside another stream`(
    _ codec: TagSamples.Codec, _ segments: Int
  ) {
    let extra = ["COMMENT=" + String(repeating: "x", count: 2000)]
    let file = Samples.ogg(codec, extra: extra, segments: segments)
    #expect(Samples.read(file).tags == Samples.tags)
  }

  @Test func `Of an Ogg with a picture in front, the texts behind it are left out`() {
    let file = Samples.ogg(
      .opus,
      extra: [
        "TITLE=First", "METADATA_BLOCK_PICTURE=" + String(repeating: "x", count: 90_000),
      ])
    let read = Samples.read(file)
    #expect(read.tags == MediaMetadata(title: "First") && read.bytes < 70_000)
  }

  @Test func `MP4, WAVE and AIFF are read`() {
    #expect(Samples.read(Samples.mp4()).tags == Samples.tags)
    #expect(Samples.read(Samples.wave()).tags == Samples.tags)
    #expect(Samples.read(Samples.aiff()).tags == Samples.tags)
    let named =
      Array("FORM".utf8) + Samples.big(99, 4) + Array("AIFC".utf8)
      + Samples.chunk("NAME", Array("N".utf8), isBig: true)
      + Samples.chunk("AUTH", Array("A".utf8), isBig: true)
    #expect(Samples.read(named).tags == MediaMetadata(title: "N", artist: "A"))
  }

  @Test func `Many long values are cut like one`() {
    let value = String(repeating: "x", count: 900)
    let frames = Samples.frame("TPE1", Samples.text("\(value)\0\(value)", .utf8), version: 4)
    let artist = Samples.read(Samples.id3(frames, version: 4)).tags?.artist
    #expect(artist?.unicodeScalars.count == PlaylistText.shownLimit)
  }

  @Test func `A text is one line without control characters`() {
    let frames = Samples.frame("TIT2", Samples.text(" a\u{1B}[2J\nb ", .utf8), version: 3)
    #expect(Samples.read(Samples.id3(frames, version: 3)).tags?.title == "a [2J b")
  }
}
