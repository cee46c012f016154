// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainAVFoundation

@Suite struct SniffedTypeTests {
  /// Name, bytes, type.
  static let known: [(String, [UInt8], String)] = [
    ("MP3", MediaBytes.mp3, "public.mp3"),
    ("MP3 of the longest frames", MediaBytes.longMP3, "public.mp3"),
    ("MPEG-2 layer III", MediaBytes.mpeg2Layer3, "public.mp3"),
    ("MPEG-2.5 layer III", MediaBytes.mpeg25Layer3, "public.mp3"),
    ("layer II", MediaBytes.mp2, "public.mp2"),
    ("ID3 before MP3", MediaBytes.id3(300) + MediaBytes.mp3, "public.mp3"),
    ("ID3 with a picture", MediaBytes.id3(200_000), "public.mp3"),
    ("ID3 before ADTS", MediaBytes.id3(63) + MediaBytes.adts(), "public.aac-audio"),
    ("ID3 before FLAC", MediaBytes.id3(1000) + MediaBytes.text("fLaC"), "org.xiph.flac"),
    (
      "two tags, one with a footer",
      MediaBytes.id3(100) + MediaBytes.id3(50, version: 4, flags: 0x10)
        + [UInt8](repeating: 0x33, count: 10) + MediaBytes.adts(), "public.aac-audio"
    ),
    (
      "ID3, zeros, MP3", MediaBytes.id3(100) + [UInt8](repeating: 0, count: 500) + MediaBytes.mp2,
      "public.mp2"
    ),
    ("ADTS", MediaBytes.adts(), "public.aac-audio"),
    ("M4A", MediaBytes.fileType("M4A ", ["M4A ", "mp42", "isom"]), "com.apple.m4a-audio"),
    ("M4B", MediaBytes.fileType("M4B ", ["M4A ", "mp42"]), "com.apple.m4a-audio"),
    ("M4V", MediaBytes.fileType("M4V ", ["isom"]), "com.apple.m4v-video"),
    ("MP4", MediaBytes.fileType("isom", ["isom", "iso2", "avc1", "mp41"]), "public.mpeg-4"),
    ("MP4 that iTunes made", MediaBytes.fileType("mp42", ["M4A ", "mp42"]), "com.apple.m4a-audio"),
    ("MP4 of a brand unheard of", MediaBytes.fileType("zzzz"), "public.mpeg-4"),
    ("MOV", MediaBytes.fileType("qt  ", ["qt  "]), "com.apple.quicktime-movie"),
    ("3GP", MediaBytes.fileType("3gp6", ["isom", "3gp6"]), "public.3gpp"),
    ("3G2", MediaBytes.fileType("3g2a"), "public.3gpp2"),
    ("segment", MediaBytes.box("styp", MediaBytes.text("msdh\0\0\0\0msix")), "public.mpeg-4"),
    ("old MOV, moov", MediaBytes.box("moov", size: 5000), "com.apple.quicktime-movie"),
    ("old MOV, wide", MediaBytes.box("wide"), "com.apple.quicktime-movie"),
    ("old MOV, mdat", MediaBytes.box("mdat", size: 1), "com.apple.quicktime-movie"),
    (
      "old MOV, skip", MediaBytes.box("skip", [0, 0]) + MediaBytes.box("mdat", size: 9000),
      "com.apple.quicktime-movie"
    ),
    ("free, then MP4", MediaBytes.box("free") + MediaBytes.fileType("mp41"), "public.mpeg-4"),
    ("WAV", MediaBytes.riff("WAVE"), "com.microsoft.waveform-audio"),
    ("RF64", MediaBytes.riff("WAVE", "RF64"), "com.microsoft.waveform-audio"),
    ("AVI", MediaBytes.riff("AVI "), "public.avi"),
    ("AIFF", MediaBytes.form("AIFF"), "public.aiff-audio"),
    ("AIFF-C", MediaBytes.form("AIFC"), "public.aifc-audio"),
    ("CAF", MediaBytes.text("caff") + [0, 1, 0, 0], "com.apple.coreaudio-format"),
    ("FLAC", MediaBytes.text("fLaC") + [0, 0, 0, 34], "org.xiph.flac"),
    ("Vorbis", MediaBytes.oggPage(MediaBytes.vorbis), "org.xiph.ogg-audio"),
    ("Opus", MediaBytes.oggPage(MediaBytes.opus), "org.xiph.ogg-audio"),
    ("FLAC in Ogg", MediaBytes.oggPage(MediaBytes.oggFLAC), "org.xiph.ogg-audio"),
    ("Theora", MediaBytes.oggPage(MediaBytes.theora), "org.xiph.ogv"),
    (
      "Vorbis before Theora",
      MediaBytes.oggPage(MediaBytes.vorbis) + MediaBytes.oggPage(MediaBytes.theora),
      "org.xiph.ogv"
    ),
    ("transport stream", MediaBytes.packets(188, sync: 0), "public.mpeg-2-transport-stream"),
    ("M2TS", MediaBytes.packets(192, sync: 4), "public.avchd-mpeg-2-transport-stream"),
    ("WebM", MediaBytes.ebml("webm"), "org.webmproject.webm"),
    ("Matroska", MediaBytes.ebml("matroska"), "org.matroska.mkv"),
    ("AC-3", MediaBytes.ac3, "public.ac3-audio"),
    ("E-AC-3", MediaBytes.eac3, "public.enhanced-ac3-audio"),
    ("AMR", MediaBytes.text("#!AMR\n<"), "org.3gpp.adaptive-multi-rate-audio"),
    ("AU", MediaBytes.text(".snd") + [0, 0, 0, 24], "public.au-audio"),
    ("HLS", MediaBytes.text("#EXTM3U\n#EXT-X-VERSION:3\n"), "public.m3u-playlist"),
    ("HLS of DOS", MediaBytes.text("#EXTM3U\r\n"), "public.m3u-playlist"),
  ]

  @Test(arguments: known) func `A format is known by its first bytes`(
    _ name: String, _ bytes: [UInt8], _ type: String
  ) {
    #expect(ContentType.sniffed(bytes) == type, "\(name)")
    // Neither what follows nor how the bytes are held matters.
    let more = bytes + [UInt8](repeating: 0x5A, count: 3 * ContentType.sniffLength)
    if type != "public.mpeg-2-transport-stream" {
      #expect(ContentType.sniffed(more.prefix(ContentType.sniffLength)) == type, "\(name)")
    }
    #expect(ContentType.sniffed(([9, 9] + bytes).dropFirst(2)) == type, "\(name)")
  }

  static let unknown: [(String, [UInt8])] = [
    ("nothing", []),
    ("zeros", [UInt8](repeating: 0, count: 4096)),
    ("ones", [UInt8](repeating: 0xFF, count: 4096)),
    ("a web page", MediaBytes.text("<!DOCTYPE html><html><head><title>Sign in</title>")),
    ("a picture in boxes", MediaBytes.fileType("heic", ["mif1", "heic"])),
    ("a JPEG", [0xFF, 0xD8, 0xFF, 0xE0, 0, 0x10] + MediaBytes.text("JFIF\0")),
    ("a WebP", MediaBytes.riff("WEBP")),
    ("UTF-16 text", [0xFF, 0xFE] + (0..<500).flatMap { [UInt8(0x41 + $0 % 26), 0] }),
    ("one frame of MP3", Array(MediaBytes.mp3.prefix(417))),
    ("another frame behind", Array(MediaBytes.mp3.prefix(417)) + MediaBytes.mpeg2Layer3),
    ("EBML of something else", MediaBytes.ebml("other")),
    ("three packets", MediaBytes.packets(188, sync: 0, count: 3)),
    ("not the tag of a playlist", MediaBytes.text("#EXTM3U8")),
    ("a playlist behind a mark", [0xEF, 0xBB, 0xBF] + MediaBytes.text("#EXTM3U\n")),
    ("a tag with an impossible size", MediaBytes.text("ID3") + [3, 0, 0, 0xFF, 0, 0, 0]),
  ]

  @Test(arguments: unknown) func `Other bytes are taken for nothing`(
    _ name: String, _ bytes: [UInt8]
  ) {
    #expect(ContentType.sniffed(bytes) == nil, "\(name)")
  }

  @Test func `Every file is known by as many first bytes as are asked for`() {
    for (name, bytes, type) in Self.known {
      #expect(ContentType.sniffed(bytes.prefix(ContentType.sniffLength)) == type, "\(name)")
    }
  }
}
