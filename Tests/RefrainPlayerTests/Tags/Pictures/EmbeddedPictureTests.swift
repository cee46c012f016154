// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// The pictures of each format.
struct EmbeddedPictureTests {
  private typealias Samples = TagSamples

  private let cover = Samples.picture()
  private let other = Samples.picture(.png, size: 700)

  @Test func `A picture of each format of media is read, and the media without one has none`() {
    for file in Samples.pictured { #expect(Samples.readPicture(file).picture == cover) }
    for file in Samples.all { #expect(Samples.readPicture(file).picture == nil) }
  }

  @Test(arguments: [2, 3, 4], [TagText.Encoding.latin1, .utf8, .utf16, .utf16BigEndian])
  func `ID3v2 is read in every version and encoding`(
    _ version: Int, _ encoding: TagText.Encoding
  ) {
    let frames =
      Samples.frames(version: version, .utf16)
      + Samples.pictureFrame(cover, version: version, encoding)
    #expect(Samples.readPicture(Samples.id3(frames, version: version)).picture == cover)
  }

  @Test(arguments: [2, 3]) func `An unsynchronized tag is read`(_ version: Int) {
    let frames =
      Samples.pictureFrame(other, type: 4, version: version)
      + Samples.pictureFrame(cover, version: version)
    let file = Samples.id3(Samples.unsynchronized(frames), version: version, flags: 0x80)
    #expect(Samples.readPicture(file).picture == cover)
  }

  @Test func `An unsynchronized frame is read, by its own flag or by that of the tag`() {
    let content = Samples.apic(cover, version: 4)
    let separated = Samples.unsynchronized(content)
    let own = Samples.frame(
      "APIC", Samples.synchsafe(content.count) + separated, version: 4, flags: 0x03)
    #expect(Samples.readPicture(Samples.id3(own, version: 4)).picture == cover)
    let all = Samples.frame("APIC", separated, version: 4)
    #expect(Samples.readPicture(Samples.id3(all, version: 4, flags: 0x80)).picture == cover)
  }

  @Test func `Frames that cannot be read are skipped`() {
    let compressed = Samples.frame(
      "APIC", Samples.apic(other, version: 4), version: 4, flags: 0x08)
    let noEnd = Samples.frame("APIC", Array("\u{0}image/jpeg".utf8), version: 4)
    let link = Samples.frame(
      "APIC", [0] + Array("-->\0\u{3}\0https://a.example/cover.jpg".utf8), version: 4)
    let frames = compressed + noEnd + link + Samples.pictureFrame(cover, type: 4, version: 4)
    #expect(Samples.readPicture(Samples.id3(frames, version: 4)).picture == cover)
  }

  @Test func `The front cover comes before other pictures, which come before none`() {
    let frames =
      Samples.pictureFrame(other, type: 4, version: 3) + Samples.pictureFrame(cover, version: 3)
    #expect(Samples.readPicture(Samples.id3(frames, version: 3)).picture == cover)
    let (front, back) = (Samples.flacPicture(cover), Samples.flacPicture(other, type: 4))
    #expect(Samples.readPicture(Samples.flac(pictures: [back, front])).picture == cover)
    #expect(Samples.readPicture(Samples.flac(pictures: [back])).picture == other)
    #expect(Samples.readPicture(Samples.ogg(.opus, pictures: [back, front])).picture == cover)
    #expect(Samples.readPicture(Samples.ogg(.opus, pictures: [back])).picture == other)
  }

  @Test(arguments: PictureFormat.allCases)
  func `The first bytes decide over the format`(_ format: PictureFormat) {
    let picture = Samples.picture(format)
    #expect(PictureFormat(beginning: picture) == format)
    #expect(Samples.readPicture(Samples.mp3(cover: picture)).picture == picture)
    #expect(PictureFormat(beginning: picture.prefix(2)) == nil)
  }

  @Test func `What desktops do not show is left out`() {
    let bitmap = Array("BM".utf8) + Samples.noise(500)
    for file in [
      Samples.mp3(cover: bitmap), Samples.flac(pictures: [Samples.flacPicture(bitmap)]),
      Samples.mp4(covers: [bitmap]), Samples.ogg(.vorbis, pictures: [Samples.flacPicture(bitmap)]),
      Samples.wave(cover: bitmap),
    ] {
      #expect(Samples.readPicture(file).picture == nil)
    }
    #expect(Samples.readPicture(Samples.mp4(covers: [bitmap, cover])).picture == cover)
  }

  @Test func `FLAC is read behind a tag without a picture`() {
    let file =
      Samples.id3([], version: 4) + Samples.flac(pictures: [Samples.flacPicture(cover)])
    #expect(Samples.readPicture(file).picture == cover)
  }

  @Test(arguments: [1, 255]) func `Ogg is read over many pages`(_ segments: Int) {
    let file = Samples.ogg(.opus, pictures: [Samples.flacPicture(cover)], segments: segments)
    #expect(Samples.readPicture(file, step: 4 << 10).picture == cover)
  }

  @Test func `Pictures behind the media are read only if they are stored`() {
    for file in [
      Samples.mp4(isMovieFirst: false, covers: [cover]),
      Samples.wave(cover: cover, isTagFirst: false),
    ] {
      #expect(Samples.readPicture(file).picture == cover)
      let without = Samples.readPicture(file, optional: false)
      #expect(without.picture == nil && without.hasGaps && without.bytes < 100)
    }
  }

  @Test func `Of a picture that is not shown, only the head is read`() {
    let large = Samples.picture(size: EmbeddedPicture.limit + 1)
    let file = Samples.flac(pictures: [Samples.flacPicture(large)])
    let read = Samples.readPicture(file)
    #expect(read.picture == nil && read.bytes < 500)
    let back = Samples.flacPicture(Samples.picture(size: 500_000), type: 4)
    let both = Samples.readPicture(Samples.flac(pictures: [back, Samples.flacPicture(cover)]))
    #expect(both.picture == cover && both.bytes < 6000)
    let tag = Samples.pictureFrame(Samples.picture(size: 500_000), type: 4, version: 3)
    let frames = tag + Samples.pictureFrame(cover, version: 3)
    let behind = Samples.readPicture(Samples.id3(frames, version: 3))
    #expect(behind.picture == cover && behind.bytes < 16_000)
  }
}
