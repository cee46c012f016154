// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainAVFoundation

@Suite struct SniffedTypeTests {
  /// Name, bytes, type.
  static let known: [NamedBytes] = [
    NamedBytes("MP3", MediaBytes.mp3, "public.mp3"),
    NamedBytes("MP3 of the longest frames", MediaBytes.longMP3, "public.mp3"),
    NamedBytes("MPEG-2 layer III", MediaBytes.mpeg2Layer3, "public.mp3"),
    NamedBytes("MPEG-2.5 layer III", MediaBytes.mpeg25Layer3, "public.mp3"),
    NamedBytes("ID3 before MP3", MediaBytes.id3(300) + MediaBytes.mp3, "public.mp3"),
    NamedBytes("ID3 with a picture", MediaBytes.id3(200_000), "public.mp3"),
    NamedBytes("ID3 before ADTS", MediaBytes.id3(63) + MediaBytes.adts(), "public.aac-audio"),
    NamedBytes("ID3 before FLAC", MediaBytes.id3(1000) + MediaBytes.text("fLaC"), "org.xiph.flac"),
    NamedBytes("ADTS", MediaBytes.adts(), "public.aac-audio"),
    NamedBytes(
      "M4A", MediaBytes.fileType("M4A ", ["M4A ", "mp42", "isom"]), "com.apple.m4a-audio"),
    NamedBytes("M4B", MediaBytes.fileType("M4B ", ["M4A ", "mp42"]), "com.apple.m4a-audio"),
    NamedBytes("M4V", MediaBytes.fileType("M4V ", ["isom"]), "com.apple.m4v-video"),
    NamedBytes(
      "MP4", MediaBytes.fileType("isom", ["isom", "iso2", "avc1", "mp41"]), "public.mpeg-4"),
    NamedBytes("MP4 that iTunes made", MediaBytes.fileType("mp42", ["M4A "]), "public.mpeg-4"),
    NamedBytes("MP4 of a brand unheard of", MediaBytes.fileType("zzzz"), "public.mpeg-4"),
    NamedBytes("MOV", MediaBytes.fileType("qt  ", ["qt  "]), "com.apple.quicktime-movie"),
    NamedBytes("3GP", MediaBytes.fileType("3gp6", ["isom", "3gp6"]), "public.3gpp"),
    NamedBytes("3G2", MediaBytes.fileType("3g2a"), "public.3gpp2"),
    NamedBytes(
      "segment", MediaBytes.box("styp", MediaBytes.text("msdh\0\0\0\0msix")), "public.mpeg-4"),
    NamedBytes("WAV", MediaBytes.riff("WAVE"), "com.microsoft.waveform-audio"),
    NamedBytes("RF64", MediaBytes.riff("WAVE", "RF64"), "com.microsoft.waveform-audio"),
    NamedBytes("AIFF", MediaBytes.form("AIFF"), "public.aiff-audio"),
    NamedBytes("AIFF-C", MediaBytes.form("AIFC"), "public.aifc-audio"),
    NamedBytes("FLAC", MediaBytes.text("fLaC") + [0, 0, 0, 34], "org.xiph.flac"),
    NamedBytes("Ogg", MediaBytes.text("OggS\0\u{2}"), "org.xiph.ogg-audio"),
    NamedBytes("HLS", MediaBytes.text("#EXTM3U\n#EXT-X-VERSION:3\n"), "public.m3u-playlist"),
    NamedBytes("HLS of DOS", MediaBytes.text("#EXTM3U\r\n"), "public.m3u-playlist"),
  ]

  @Test(arguments: known) func `A format is recognized by its first bytes`(_ file: NamedBytes) {
    let (name, bytes, type) = (file.name, file.bytes, file.type)
    #expect(ContentType.sniffed(bytes) == type, "\(name)")
    #expect(ContentType.sniffed(bytes.prefix(ContentType.sniffLength)) == type, "\(name)")
    // Neither the following bytes nor the storage of the bytes matters.
    let more = bytes + [UInt8](repeating: 0x5A, count: 3 * ContentType.sniffLength)
    #expect(ContentType.sniffed(more.prefix(ContentType.sniffLength)) == type, "\(name)")
    #expect(ContentType.sniffed(([9, 9] + bytes).dropFirst(2)) == type, "\(name)")
  }

  static let unknown: [NamedBytes] = [
    NamedBytes("nothing", []),
    NamedBytes("zeros", [UInt8](repeating: 0, count: 4096)),
    NamedBytes("ones", [UInt8](repeating: 0xFF, count: 4096)),
    NamedBytes("a web page", MediaBytes.text("<!DOCTYPE html><html><head><title>Sign in</title>")),
    NamedBytes("a JPEG", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10] + MediaBytes.text("JFIF\0")),
    NamedBytes("a WebP", MediaBytes.riff("WEBP")),
    NamedBytes("UTF-16 text", [0xFF, 0xFE] + (0..<500).flatMap { [UInt8(0x41 + $0 % 26), 0] }),
    NamedBytes("MPEG audio of a forbidden bit rate", [0xFF, 0xFB, 0xF0, 0x64]),
    NamedBytes("MPEG audio of a reserved sampling rate", [0xFF, 0xFB, 0x9C, 0x64]),
    NamedBytes("ADTS of a reserved sampling rate", [0xFF, 0xF1, 0x74, 0x80]),
    NamedBytes("a WebM", [0x1A, 0x45, 0xDF, 0xA3, 0x9F] + MediaBytes.text("B\u{2}webm")),
    NamedBytes("not the tag of a playlist", MediaBytes.text("#EXTM3U8")),
    NamedBytes("a playlist behind a mark", [0xEF, 0xBB, 0xBF] + MediaBytes.text("#EXTM3U\n")),
    NamedBytes("a tag with an impossible size", MediaBytes.text("ID3") + [3, 0, 0, 0xFF, 0, 0, 0]),
  ]

  @Test(arguments: unknown) func `Bytes of other formats are not recognized`(_ file: NamedBytes) {
    #expect(ContentType.sniffed(file.bytes) == nil)
  }
}
