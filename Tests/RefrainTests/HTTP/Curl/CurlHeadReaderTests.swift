// SPDX-License-Identifier: MIT
#if os(Linux)
  import Testing

  @testable import Refrain

  /// Errors in a response's head that libcurl tolerates, and those that must be rejected.
  struct CurlHeadReaderTests {
    private enum Step: Equatable {
      case head(CurlHeadReader.Head)
      case malformed(String)
    }

    /// Returns what the lines are read as, up to the first fault.
    private func read(_ lines: [[UInt8]]) -> [Step] {
      var reader = CurlHeadReader(host: "h.example")
      var steps: [Step] = []
      for line in lines {
        do throws(TransportError) {
          // `withUnsafeBytes` passes on no typed error.
          let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: line.count, alignment: 1)
          defer { buffer.deallocate() }
          buffer.copyBytes(from: line)
          if let head = try reader.read(UnsafeRawBufferPointer(buffer)) {
            steps.append(.head(head))
          }
        } catch {
          return steps + [.malformed(error.reason)]
        }
      }
      return steps
    }

    private func read(_ lines: [String], end: String = "\r\n") -> [Step] {
      read(lines.map { Array(($0 + end).utf8) })
    }

    /// Fields with which one response's bytes could be mistaken for another's.
    private static let unsafeFields = [
      ["Content-Length: +5"], ["Content-Length: -5"], ["Content-Length: 1 0"], ["Content-Length:"],
      ["Content-Length: 0x5"], ["Content-Length: 5, 6"], ["Content-Length: 5,"],
      ["Content-Length: 5,,5"], ["Content-Length: 5, -5"], ["Content-Length: 5", " 0"],
      ["Content-Length:", " 5"], ["Content-Length: 5\u{1}"], ["Content-Length: 5\r"],
      ["Content-Length\u{B}: 5"], ["\u{1}Content-Length: 5"],
      ["Content-Length: 5", "content-length: 6"], ["Content-Length : 5", "Content-Length: 6"],
      ["Content-Length: 99999999999999999998", "Content-Length: 99999999999999999999"],
      ["Transfer-Encoding:"], ["Transfer-Encoding: gzip"], ["Transfer-Encoding: gzip, chunked"],
      ["Transfer-Encoding: chunked, identity"], ["Transfer-Encoding: xchunked"],
      ["Transfer-Encoding: \u{B}chunked"], ["Transfer-Encoding: chunked\u{0}"],
      ["Transfer-Encoding : chunked"], ["Transfer-Encoding\u{B}: chunked"],
      ["Transfer-Encoding\t: identity"], ["Transfer-Encoding:", " chunked"],
      ["Transfer-Encoding\u{A0}: chunked"], ["Transfer-Encoding: \"chunked\""],
      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: chunked", "Content-Length: -5"],
      ["Transfer-Encoding: chunked", "Content-Length: 5", "Content-Length: 6"],
      ["Content-Range: bytes 0-4/\u{1}5"], ["Content-Encoding: gz\u{1}ip"],
      ["Cache-Control: no-store\u{1}"], ["Vary\u{1}: Accept"],
    ]

    private func outcome(_ lines: String...) -> Step? { read(lines + [""]).first }

    @Test func `A head is parsed into its status and ordered fields`() {
      let head = outcome("HTTP/1.1 206 Partial Content", "B: 2", "a:1 ", "B:  3\t", "C:")
      let fields = HeaderFields([("B", "2"), ("a", "1"), ("B", "3"), ("C", "")])
      #expect(head == .head(.init(status: 206, headers: fields)))
    }

    @Test(arguments: ["HTTP/1.1 200", "HTTP/1.0 200 OK", "ICY 200 OK", "HTTP/1.1 200 "])
    func `A status line needs no reason phrase`(_ line: String) {
      #expect(outcome(line) == .head(.init(status: 200, headers: [:])))
    }

    @Test func `A line ends with CRLF or with LF alone`() {
      let lines = ["HTTP/1.1 200 OK", "A: 1", ""]
      #expect(read(lines, end: "\n").last == .head(.init(status: 200, headers: ["A": "1"])))
      let steps = read(["HTTP/1.1 200 OK\r\n", "A: 1\n", "B: 2\r\n", "\n"], end: "")
      #expect(steps.last == .head(.init(status: 200, headers: ["A": "1", "B": "2"])))
    }

    @Test(
      arguments: [
        (["Content-Length: 5"], false), (["Content-Length: 5", "content-length: 5"], false),
        (["Content-Length: 5, 5"], false),
        (["Content-Length: 5,\t5", "Content-Length: 5"], false),
        (["Content-Length : 5"], true), (["Content-Length\t : 5"], true),
        (["Content-Length : 5", "Content-Length: 5"], false),
        (["Transfer-Encoding: identity", "Content-Length: 5"], true),
        (["Content-Length: 5", "Transfer-Encoding: Identity"], true),
      ] as [([String], Bool)])
    func `Equal lengths become one, which is counted where libcurl does not know it`(
      _ lines: [String], _ isCounted: Bool
    ) {
      let step = read(["HTTP/1.1 200 OK"] + lines + [""]).last
      guard case .head(let head)? = step else {
        Issue.record("\(lines) was read as \(step.map { "\($0)" } ?? "nothing")")
        return
      }
      #expect(head.headers == ["Content-Length": "5"], "\(lines)")
      #expect(head.isCounted == isCounted, "\(lines)")
    }

    @Test(arguments: [
      ["Content-Length: 9223372036854775808"], ["Content-Length: 99999999999999999999"],
      ["Transfer-Encoding: identity"],
    ])
    func `A length that no resource has is unknown`(_ lines: [String]) {
      let step = read(["HTTP/1.1 200 OK"] + lines + [""]).last
      #expect(step == .head(.init(status: 200, headers: [:])))
    }

    @Test(arguments: [
      ["Content-Length: 3", "Transfer-Encoding: chunked"],
      ["Transfer-Encoding: Chunked", "Content-Length: 3", "Content-Length: 3"],
    ])
    func `Chunks count, not a length beside them`(_ lines: [String]) {
      guard case .head(let head)? = read(["HTTP/1.1 200 OK"] + lines + [""]).last else {
        Issue.record("\(lines) was refused.")
        return
      }
      #expect(head.headers["Content-Length"] == nil && !head.isCounted)
      #expect(head.headers["Transfer-Encoding"]?.lowercased() == "chunked")
    }

    @Test func `An interim response is read apart from the final one`() {
      let steps = read([
        "HTTP/1.1 103 Early Hints", "Link: x", "", "HTTP/1.1 200 OK", "A: 1", "",
      ])
      #expect(
        steps == [
          .head(.init(status: 103, headers: ["Link": "x"])),
          .head(.init(status: 200, headers: ["A": "1"])),
        ])
    }

    @Test func `White space before a colon is removed`() {
      #expect(
        outcome("HTTP/1.1 200 OK", "A : 1", "B\t: 2")
          == .head(.init(status: 200, headers: ["A": "1", "B": "2"])))
    }

    @Test(arguments: [
      ["X: a\u{1}b"], ["X: a\rX-Evil: 1"], ["X: a\u{7F}"],
      ["bad name: x"], [": nameless"], ["X-\u{E9}: x"], ["X(1): x"],
      ["\u{1}X: x"], ["Set-Cookie: a=\rb"], ["ETag: \"\u{1}\""], ["Content Length: 7"],
    ])
    func `A field that cannot be read is dropped alone`(_ lines: [String]) {
      #expect(
        read(["HTTP/1.1 200 OK", "A: 1"] + lines + ["B: 2", ""]).last
          == .head(.init(status: 200, headers: ["A": "1", "B": "2"])), "\(lines)")
    }

    @Test func `Values that are not UTF-8 keep their characters`() {
      let lines: [[UInt8]] = [
        Array("HTTP/1.1 302 Found".utf8), Array("icy-name: Caf".utf8) + [0xE9],
        Array("X: é".utf8), Array("ETag: \"".utf8) + [0xE9, 0x22], [],
      ]
      let step = read(lines.map { $0 + [13, 10] }).last
      let expected: HeaderFields = [
        "icy-name": "Café", "X": "é", "ETag": "\"é\"",
      ]
      #expect(step == .head(.init(status: 302, headers: expected)))
    }

    @Test(
      arguments: [
        ["HTTP/1.1 20 OK"], ["HTTP/1.1 2000 OK"], ["HTTP/1.1 +20 OK"], ["HTTP/2 200"], ["HTTP/1.1"],
        ["HTTP/1.1 099 Low"], ["FTP/1.1 200 OK"], ["ICY garbage"], ["HTTP/1.1 101 Switching"],
        ["HTTP/1.1 200 OK", " folded: first"], ["HTTP/1.1 200 OK", "no colon"],
        ["HTTP/1.1 200 OK", "\rA: 1"], ["HTTP/1.1 200 OK", "A: 1", " 2"],
      ] + unsafeFields.map { ["HTTP/1.1 200 OK"] + $0 })
    func `An invalid or ambiguous head is malformed`(_ lines: [String]) {
      let step = read(lines + [""]).first
      guard case .malformed(let reason)? = step else {
        Issue.record("\(lines) was read as \(step.map { "\($0)" } ?? "nothing")")
        return
      }
      #expect(reason.hasPrefix("h.example sent an invalid HTTP response: it"))
    }
  }
#endif
