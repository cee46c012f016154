// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// curl with the options commonly used on media.
@Suite(
  .enabled(if: RequiredProgram.curl.isUsable && RequiredProgram.ffmpeg.isUsable),
  .timeLimit(.minutes(2)))
struct CurlTests {
  @Test(arguments: Media.allCases)
  func `A whole request returns the file, cold and warm`(_ media: Media) async throws {
    try await withCurl(media) { curl, bytes in
      for _ in ["cold", "warm"] {
        let answer = try await curl.get(["--http1.1"])
        #expect(answer.status == 200)
        #expect(answer.body == bytes)
      }
    }
  }

  @Test(arguments: ["0-0", "100-199999", "70000-70000", "200000-", "-500", "65535-65536"])
  func `A range request returns the origin's bytes, cold and warm`(_ range: String) async throws {
    try await withCurl(.mp3) { curl, bytes in
      let direct = try await curl.get(["-r", range], from: .origin)
      for _ in ["cold", "warm"] {
        let answer = try await curl.get(["-r", range])
        #expect(answer.status == 206)
        #expect(answer.body == direct.body)
        #expect(answer.header("Content-Range") == direct.header("Content-Range"))
      }
    }
  }

  @Test func `A range beyond the end is refused, with the length`() async throws {
    try await withCurl(.mp3) { curl, bytes in
      for _ in ["cold", "warm"] {
        let answer = try await curl.get(["-r", "100000000-"])
        #expect(answer.status == 416)
        #expect(answer.header("Content-Range") == "bytes */\(bytes.count)")
      }
    }
  }

  @Test func `An interrupted download is resumed`() async throws {
    try await withCurl(.mp3) { curl, bytes in
      for _ in ["cold", "warm"] {
        let answer = try await curl.get(["-C", "-"], after: bytes.prefix(100_000))
        #expect(answer.status == 206)
        #expect(answer.body == bytes)
      }
    }
  }

  @Test func `HEAD returns the same headers as the origin`() async throws {
    try await withCurl(.mp3) { curl, bytes in
      let direct = try await curl.get(["-I"], from: .origin)
      for _ in ["cold", "warm"] {
        let answer = try await curl.get(["-I"])
        #expect(answer.status == 200)
        for name in ["Content-Length", "Content-Type", "ETag", "Last-Modified", "Accept-Ranges"] {
          #expect(answer.header(name) == direct.header(name), "\(name)")
        }
        #expect(answer.header("Content-Length") == "\(bytes.count)")
      }
    }
  }

  @Test func `A client too old for chunked encoding receives an unchunked file`() async throws {
    try await withCurl(.mp3) { curl, bytes in
      for _ in ["cold", "warm"] {
        let answer = try await curl.get(["--http1.0"])
        #expect(answer.status == 200)
        #expect(answer.body == bytes)
        #expect(answer.header("Transfer-Encoding") == nil)
      }
    }
  }

  @Test func `A file that curl already has is not sent again`() async throws {
    try await withCurl(.mp3) { curl, bytes in
      let first = try await curl.get(["--etag-save", "tag.txt"])
      #expect(first.body == bytes)
      let tagged = try await curl.get(["--etag-compare", "tag.txt"])
      #expect(tagged.status == 304)
      #expect(tagged.body.isEmpty)
      let modified = try #require(first.header("Last-Modified"))
      let dated = try await curl.get(["-z", modified])
      #expect(dated.status == 304)
      #expect(dated.body.isEmpty)
      let old = try await curl.get(["-z", "Sat, 01 Jan 2000 00:00:00 GMT"])
      #expect(old.status == 200)
      #expect(old.body == bytes)
    }
  }

  /// Serves the media, and at the end checks the cost at the origin.
  private func withCurl(
    _ media: Media, _ body: (Curl, Data) async throws -> Void
  ) async throws {
    let path = "/" + media.name
    let bytes = try await media.bytes()
    try await Proxied.with { proxied in
      try await proxied.serve(media, at: path)
      // Direct requests use another path, so that they do not count for the proxy.
      try await proxied.serve(media, at: "/direct" + path)
      try await body(
        Curl(
          origin: proxied.direct("/direct" + path), proxy: try proxied.proxied(path),
          directory: proxied.directory), bytes)
      await proxied.stop()
      await proxied.expectNoByteReceivedTwice(path, of: bytes)
    }
  }
}
