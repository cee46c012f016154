// SPDX-License-Identifier: MIT
import Foundation
import RefrainProxy
import TestSupport
import Testing

@testable import RefrainServer

struct AccessLogLineTests {
  private let date = Date(timeIntervalSince1970: 971_211_336.5)

  private func request(_ url: String = "https://example.org/a/song.flac?x=1") -> ServedRequest {
    var request = ServedRequest(
      method: "GET", url: url, status: 206, range: 0..<2326, bytesSent: 2326, source: .hit,
      seconds: 0.25, client: "192.0.2.1", error: nil)
    request.version = "HTTP/1.1"
    return request
  }

  private func combined(
    _ request: ServedRequest, hasOrigin: Bool = false, hours: Double = -7
  ) throws -> String {
    let zone = try #require(TimeZone(secondsFromGMT: Int(hours * 3600)))
    return AccessLogLine(request: request, date: date, hasOrigin: hasOrigin)
      .text(in: zone)
  }

  @Test func `A combined line has the fields of Apache's, in local time`() throws {
    var request = request()
    request.referrer = "https://example.org/"
    request.userAgent = "mpv 0.40"
    let line = """
      192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \
      "GET https://example.org/a/song.flac?x=1 HTTP/1.1" 206 2326 \
      "https://example.org/" "mpv 0.40"
      """
    #expect(try combined(request) == line)
    #expect(try combined(request, hours: 5.5).contains("[11/Oct/2000:02:25:36 +0530]"))
  }

  @Test func `A line of one origin names the path, and absent fields are dashes`() throws {
    let end = #""GET /a/song.flac?x=1 HTTP/1.1" 206 2326 "-" "-""#
    #expect(try combined(request(), hasOrigin: true).hasSuffix(end))
    let root = try combined(request("https://example.org"), hasOrigin: true)
    #expect(root.contains(#""GET / HTTP/1.1""#))
    var none = request("-")
    none.method = "-"
    #expect(try combined(none).contains(#" "-" 206 "#))
  }

  @Test func `A password in a URL is not logged`() throws {
    let request = request("https://me:secret@example.org/a")
    #expect(try combined(request).contains("https://example.org/a "))
  }

  /// Texts with which a client could forge lines, end fields or control a terminal.
  private static let hostile = [
    "a\r\n192.0.2.9 - - forged", "a\" 200 1 \"-\" \"x", "\u{1B}[2J\u{7}",
    "\u{0}\u{7F}\u{9B}31m", "\\x22 \\", "ü\u{202E}\u{2028}😀", "tab\there",
  ]

  @Test(arguments: hostile)
  func `A combined line stays one line of plain fields, whatever is sent`(_ text: String) throws {
    var request = request("https://example.org/\(text)")
    (request.method, request.referrer, request.userAgent) = (text, text, text)
    request.client = text
    let line = try combined(request)
    #expect(line.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
    #expect(line.utf8.count { $0 == UInt8(ascii: "\"") } == 6)
  }

  @Test func `Escapes show what was sent`() {
    #expect(AccessLogLine.escaped("a\"b\\c\n\u{7F}é") == #"a\x22b\x5Cc\x0A\x7F\xC3\xA9"#)
    #expect(AccessLogLine.escaped("plain 'text' /?&") == "plain 'text' /?&")
  }

  @Test func `No byte beyond printable ASCII is in a line, whatever is logged`() throws {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let bytes = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      var request = request(String(decoding: bytes, as: UTF8.self))
      request.userAgent = request.url
      let line = AccessLogLine(request: request, date: date).text()
      #expect(line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "seed \(seed)")
    }
  }
}
