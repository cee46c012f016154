// SPDX-License-Identifier: MIT
#if os(Linux)
  import Testing

  @testable import Refrain

  /// Errors in a response's head that libcurl tolerates, and those that must be rejected.
  struct CurlHeadReaderTests {
    private func read(_ lines: [String], end: String = "\r\n") -> [CurlHeadReader.Step] {
      var reader = CurlHeadReader()
      return lines.map { line in
        Array((line + end).utf8).withUnsafeBytes { reader.read($0) }
      }
    }

    private func outcome(_ lines: String...) -> CurlHeadReader.Step? {
      read(lines + [""]).first { $0 != .incomplete }
    }

    @Test func `A head is parsed into its status and ordered fields`() {
      let head = outcome("HTTP/1.1 206 Partial Content", "B: 2", "a:1 ", "B:  3\t", "C:")
      let fields = HeaderFields([("B", "2"), ("a", "1"), ("B", "3"), ("C", "")])
      #expect(head == .head(.init(status: 206, headers: fields)))
    }

    @Test(arguments: ["HTTP/1.1 200", "HTTP/1.0 200 OK", "ICY 200 OK", "HTTP/1.1 200 "])
    func `A status line needs no reason phrase`(_ line: String) {
      #expect(outcome(line) == .head(.init(status: 200, headers: [:])))
    }

    @Test func `Interim responses and their fields are skipped`() {
      let steps = read([
        "HTTP/1.1 100 Continue", "X: 1", "", "HTTP/1.1 103 Early Hints", "Link: a", "",
        "HTTP/1.1 404 Not Found", "Y: 2", "",
      ])
      #expect(steps.last == .head(.init(status: 404, headers: ["Y": "2"])))
      #expect(steps.dropLast().allSatisfy { $0 == .incomplete })
    }

    @Test func `Trailers are not part of the head`() {
      let steps = read(["HTTP/1.1 200 OK", "", "ETag: \"evil\"", "\u{1}", ""])
      #expect(steps.filter { $0 != .incomplete }.count == 1)
    }

    @Test func `A head has LF or CRLF line endings, but not both`() {
      let lines = ["HTTP/1.1 200 OK", "A: 1", ""]
      #expect(read(lines, end: "\n").last == .head(.init(status: 200, headers: ["A": "1"])))
      var reader = CurlHeadReader()
      let steps = ["HTTP/1.1 200 OK\r\n", "A: 1\n", "X-Evil: 1\r\n"].map { line in
        Array(line.utf8).withUnsafeBytes { reader.read($0) }
      }
      guard case .malformed = steps[1] else {
        Issue.record("A line of its own kind was taken.")
        return
      }
    }

    @Test func `A folded field value is joined`() {
      #expect(
        outcome("HTTP/1.1 200 OK", "A: 1", " 2", "\t3", "B: 4")
          == .head(.init(status: 200, headers: ["A": "1 2 3", "B": "4"])))
    }

    @Test(arguments: [
      ["HTTP/1.1 20 OK"], ["HTTP/1.1 2000 OK"], ["HTTP/1.1 +20 OK"], ["HTTP/2 200"], ["HTTP/1.1"],
      ["HTTP/1.1 099 Low"], ["FTP/1.1 200 OK"], ["ICY garbage"], ["HTTP/1.1 101 Switching"],
      ["HTTP/1.1 200 OK", " folded: first"], ["HTTP/1.1 200 OK", "no colon"],
      ["HTTP/1.1 200 OK", "space : 1"], ["HTTP/1.1 200 OK", ": nameless"],
      ["HTTP/1.1 200 OK", "A: \u{1}"], ["HTTP/1.1 200 OK", "A: \u{7F}"],
      ["HTTP/1.1 200 OK", "A: \r B: 1"], ["HTTP/1.1 200 O\u{0}K"],
      ["HTTP/1.1 200 OK", "Content-Length: +5"], ["HTTP/1.1 200 OK", "Content-Length: -5"],
      ["HTTP/1.1 200 OK", "Content-Length: 5, 5"], ["HTTP/1.1 200 OK", "Content-Length:"],
      ["HTTP/1.1 200 OK", "Content-Length: 0x5"],
      ["HTTP/1.1 200 OK", "Content-Length: 99999999999999999999"],
      ["HTTP/1.1 200 OK", "Content-Length: 5", "content-length: 5"],
      ["HTTP/1.1 200 OK", "Transfer-Encoding: gzip"],
      ["HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked"],
      ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Length: 5"],
    ])
    func `An invalid or ambiguous head is malformed`(_ lines: [String]) {
      let step = read(lines + [""]).first { $0 != .incomplete }
      guard case .malformed(let words)? = step else {
        Issue.record("\(lines) was read as \(step.map { "\($0)" } ?? "nothing")")
        return
      }
      #expect(!words.isEmpty)
    }
  }
#endif
