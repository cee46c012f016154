// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

@Suite struct MediaTypeTests {
  @Test(
    arguments: [
      ("audio/mpeg", "audio/mpeg"), ("Audio/MPEG; charset=x", "audio/mpeg"),
      (" audio/flac ;q=1", "audio/flac"),
      ("application/vnd.apple.mpegurl", "application/vnd.apple.mpegurl"),
      (nil, nil), ("", nil), ("audio", nil), ("audio/", nil), ("/mpeg", nil), ("a/b/c", nil),
      ("audio/mpeg, audio/mpeg", nil), ("audio /mpeg", nil), ("audio/m\u{e9}", nil), (";", nil),
      ("a/" + String(repeating: "b", count: 300), nil),
    ] as [(String?, String?)])
  func `A media type is parsed without parameters and in lower case`(
    _ text: String?, _ expected: String?
  ) {
    #expect(MediaType.essence(text) == expected)
  }

  @Test(
    arguments: [
      ("audio/mpeg", "https://h/a", "mp3"), ("audio/mpeg", "https://h/a.flac", "flac"),
      ("audio/mpeg", "https://h/a.FLAC?x=y.wav#z.ogg", "flac"),
      ("audio/mpeg", "https://h/a.php", "mp3"),
      ("audio/flac; x=y", "https://h/", "flac"), (nil, "https://h/a.php", "php"),
      (nil, "https://h/a", "bin"), (nil, "https://h", "bin"), (nil, "https://h/a.", "bin"),
      (nil, "https://h/.mp3", "bin"), (nil, "https://h/a.mp3/b", "bin"),
      (nil, "https://h/a.mp3/", "mp3"),
      (nil, "https://h/a.toolonganextension", "bin"), (nil, "https://h/a.m%2fp", "bin"),
      (nil, "https://h/a.m-p", "bin"), ("text/html", "https://h/a", "bin"),
      (nil, "https://h/a.%C3%A9", "bin"), ("video/mp4", "https://h/a", "mp4"),
      ("audio/mp4", "https://h/a", "m4a"), ("video/x-matroska", "https://h/a", "mkv"),
      ("video/mp2t", "https://h/a", "ts"), ("audio/x-wav", "https://h/a", "wav"),
      ("audio/ogg", "https://h/a", "ogg"), ("video/quicktime", "https://h/a", "mov"),
    ] as [(String?, String, String)])
  func `The extension of a stored file follows from its URL or media type`(
    _ type: String?, _ url: String, _ expected: String
  ) throws {
    let url = try #require(URL(string: url))
    #expect(MediaType.fileExtension(mimeType: type, url: url) == expected)
  }
}
