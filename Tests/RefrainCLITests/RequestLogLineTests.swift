// SPDX-License-Identifier: MIT
import Foundation
import RefrainProxy
import TestSupport
import Testing

@testable import RefrainCLI

struct RequestLineTests {
  private let request = ServedRequest(
    method: "GET", url: "https://example.org/song.flac", status: 206, range: 0..<65536,
    bytesSent: 65536, source: .hit, seconds: 0.0034, client: "127.0.0.1", error: nil)

  @Test func `A line shows the outcome of a request`() {
    #expect(
      RequestLogLine(request: request).text()
        == "GET  206 hit           64.0 KiB    3 ms  https://example.org/song.flac  bytes 0-65535")
  }

  @Test func `Lines are aligned`() {
    var other = request
    (other.method, other.status, other.source) = ("HEAD", 200, .revalidated)
    (other.bytesSent, other.seconds, other.range) = (0, 12.34, nil)
    #expect(
      RequestLogLine(request: other).text()
        == "HEAD 200 revalidated        0 B  12.3 s  https://example.org/song.flac")
  }

  @Test func `The error is at the end of the line`() {
    var failed = request
    (failed.status, failed.source, failed.range) = (502, .proxy, nil)
    failed.error = "example.org could not\nbe reached."
    let line = RequestLogLine(request: failed).text()
    #expect(line.hasSuffix("song.flac  example.org could not\\u{a}be reached."))
  }

  @Test func `A long URL is shortened to the width`() {
    var long = request
    long.url = "https://example.org/" + String(repeating: "x", count: 5000) + "/song.flac"
    let line = RequestLogLine(request: long).text(width: 110)
    #expect(line.count <= 110)
    #expect(line.contains("https://example") && line.contains("song.flac  bytes 0-65535"))
    #expect(RequestLogLine(request: long).text().count < 250)
  }

  @Test func `Text from a client cannot control the terminal`() {
    var hostile = request
    hostile.method = "G\u{1B}[2J"
    hostile.url = "http://h/\u{1B}]0;title\u{7}"
    hostile.error = "\u{9B}2J"
    let line = RequestLogLine(request: hostile).text()
    #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
  }

  @Test func `A password is not shown`() throws {
    var secret = request
    secret.url = "https://me:secret@example.org/a%2Fb?c=d@e"
    #expect(RequestLogLine(request: secret).text().contains("https://example.org/a%2Fb?c=d@e"))
    #expect(!RequestLogLine(request: secret).text().contains("secret"))
    #expect(!(try JSONText.line(RequestReport(secret))).contains("secret"))
  }

  @Test func `JSON output contains every field of a request`() throws {
    #expect(
      try JSONText.line(RequestReport(request)) == """
        {"bytesSent":65536,"client":"127.0.0.1","event":"request","method":"GET",\
        "range":[0,65536],"seconds":0.0034,"source":"hit","status":206,\
        "url":"https://example.org/song.flac"}
        """)
  }
}

@Suite(.timeLimit(.minutes(1)))
struct RequestLogTests {
  private func request(_ number: Int) -> ServedRequest {
    ServedRequest(
      method: "GET", url: "http://h/\(number)", status: 200, range: nil, bytesSent: 0,
      source: .hit, seconds: 0, client: "127.0.0.1", error: nil)
  }

  @Test func `Lines are written in few blocks, before the log is closed`() async throws {
    let lines = Lines()
    let log = RequestLog { requests, _ in lines.add("\(requests.count)") }
    for number in 0..<5000 { log.note(request(number)) }
    // The log is not closed: it writes by itself.
    try await eventually("all is written") {
      lines.all.compactMap { Int($0) }.reduce(0, +) == 5000
    }
    #expect(lines.all.count < 500)
  }

  @Test func `A stalled reader blocks no request, and left-out lines are counted`() async {
    let lines = Lines()
    let gate = DispatchSemaphore(value: 0)
    let log = RequestLog(bound: 2) { requests, leftOut in
      gate.wait()
      lines.add("\(requests.count) \(leftOut)")
    }
    // The first lines may be in progress already, and then no longer count as waiting.
    for number in 0..<50 { log.note(request(number)) }
    await log.end(patience: .milliseconds(1))
    for _ in 0..<50 { gate.signal() }
    await log.end()
    let counts = lines.all.map { $0.split(separator: " ").compactMap { Int($0) } }
    let told = counts.reduce(0) { $0 + $1[0] }
    #expect(told >= 2 && told <= 4)
    #expect(told + counts.reduce(0) { $0 + $1[1] } == 50)
  }

  @Test func `Nothing further is written after the output is closed`() async {
    let lines = Lines()
    let log = RequestLog { requests, _ in
      for request in requests { lines.add(request.url) }
      throw InvalidArgument("closed")
    }
    for number in 0..<5 {
      log.note(request(number))
      await log.end()
    }
    #expect(lines.all == ["http://h/0"])
  }
}
