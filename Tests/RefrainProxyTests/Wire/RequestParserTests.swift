// SPDX-License-Identifier: MIT
import NIOCore
import Testing

@testable import RefrainProxy

/// Requests that are accepted, at the limits, in pieces and at random. `SmugglingTests` has those
/// that are refused.
struct RequestParserTests {
  @Test func `Heads and bodies of the greatest length are accepted`() {
    let long = String(repeating: "a", count: 16 * 1024 - 1)
    let fields = String(repeating: "X: a\r\n", count: 127)
    for text in [
      "", "\r\n", "\r\n\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "GET http://[::1]/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n",
    ] {
      let parsed = ParsedRequests(text)
      #expect(parsed.httpError == nil && parsed.isEveryRequestComplete, "\(text.prefix(80))")
    }
  }

  @Test(arguments: [
    "/", "/?", "//x", "/a//b/../c", "/%zz", "/a?b?c", "http://a", "HTTP://127.0.0.1:80/x?y",
    "http://[::1]/",
  ])
  func `A path or http URL is accepted as a target byte for byte`(_ target: String) throws {
    var parser = RequestParser()
    var buffer = ByteBuffer(string: "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
    guard case .head(let head) = try parser.next(&buffer) else { throw HTTPError(400, target) }
    #expect(head.target == target)
  }

  @Test func `A head that arrives in many pieces is not scanned repeatedly`() {
    // Byte by byte, a head of 8 MiB would take hours.
    var limits = RequestParser.Limits()
    limits.headBytes = 16 << 20
    let value = [UInt8](repeating: UInt8(ascii: "a"), count: 4096)
    var pieces = [Array("GET / HTTP/1.0\r\nX: ".utf8)]
    pieces += Array(repeating: value, count: 512)
    pieces += Array(repeating: [UInt8(ascii: "b")], count: 100_000)
    pieces.append(Array("\r\n\r\n".utf8))
    let parsed = ParsedRequests(pieces, limits: limits)
    #expect(parsed.httpError == nil)
    #expect(parsed.requests.map(\.isComplete) == [true])
  }

  private struct Stream {
    var bytes: [UInt8] = []
    /// The parts of each request.
    var requests: [(head: String, length: Int64?, body: [UInt8])] = []
  }

  private static func stream(_ fuzz: inout Fuzz) -> Stream {
    var stream = Stream()
    for _ in 0...fuzz.number(below: 3) {
      let version = fuzz.pick(["1.1", "1.1", "1.0", "1.2"])
      let method = fuzz.pick(["GET", "HEAD", "POST", "OPTIONS", "x-y!"])
      let target = fuzz.pick([
        "/", "/a/b?c=d", "/%2e%zz//", "http://h/x", "http://[::1]:80", "/\"<>[]|~", "//h",
      ])
      var fields = fuzz.oneIn(3) && version == "1.0" ? [] : ["Host: h:80"]
      for _ in 0..<fuzz.number(below: 5) {
        fields.append(
          fuzz.pick([
            "Accept: */*", "X:", "x-y_z: \t a b\t ", "If-Range: \"a\"", "Cookie: a=b; c",
            "Via: 1 x",
            "Connection: close", "connection: keep-alive, x", "Pragma: no-cache", "Y: é~",
            "Expect: 100-continue", "If-None-Match: W/\"x\", \"y\"", "Origin: null",
          ]))
      }
      if fuzz.oneIn(3) { fields.append("Range: bytes=0-") }
      let body = [UInt8](repeating: UInt8(ascii: "b"), count: fuzz.number(below: 40))
      var length: Int64?
      if fuzz.oneIn(2) {
        fields.append("Content-Length: \(fuzz.pick(["", "0", "00"]))\(body.count)")
        length = Int64(body.count)
      }
      let sent = length == nil ? [] : body
      if fuzz.oneIn(2) { fields.reverse() }
      let head =
        "\(method) \(target) HTTP/\(version)\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
      stream.bytes += Array((fuzz.oneIn(4) ? "\r\n" : "").utf8) + Array(head.utf8) + sent
      stream.requests.append((head, length, sent))
    }
    return stream
  }

  @Test func `Valid requests are parsed correctly in pieces of any size`() {
    var fuzz = Fuzz()
    print("RequestParserTests: seed \(fuzz.seed)")
    while !fuzz.isOver {
      let stream = Self.stream(&fuzz)
      let parsed = ParsedRequests(fuzz.split(stream.bytes))
      let text = String(decoding: stream.bytes, as: UTF8.self)
      guard parsed.httpError == nil, parsed.isEveryRequestComplete,
        parsed.requests.map(\.head) == stream.requests.map(\.head),
        parsed.requests.map(\.length) == stream.requests.map(\.length),
        parsed.requests.map(\.body) == stream.requests.map(\.body)
      else {
        Issue.record("seed \(fuzz.seed): \(text.debugDescription): \(parsed)")
        return
      }
    }
  }

  @Test func `Any input is parsed the same in one piece and in many`() {
    var fuzz = Fuzz()
    print("RequestParserTests: seed \(fuzz.seed)")
    let interesting = Array("\r\n\r\n \t:;,/*?#0159aAxX\"\\-+".utf8) + [0, 0x7F, 0x80, 0xFF]
    var limits = RequestParser.Limits()
    var count = 0
    while !fuzz.isOver {
      // Small limits, so that they are reached.
      limits.headBytes = fuzz.oneIn(2) ? 32 * 1024 : 40 + fuzz.number(below: 200)
      limits.targetBytes = fuzz.oneIn(2) ? 16 * 1024 : 1 + fuzz.number(below: 20)
      limits.fields = fuzz.oneIn(2) ? 128 : fuzz.number(below: 8)
      let bytes = fuzz.mutated(Self.stream(&fuzz).bytes, with: interesting)
      let whole = ParsedRequests([bytes], limits: limits)
      let single = ParsedRequests(bytes.map { [$0] }, limits: limits)
      let several = ParsedRequests(fuzz.split(bytes), limits: limits)
      let text = String(decoding: bytes, as: UTF8.self).debugDescription
      guard whole == single, whole == several else {
        Issue.record("seed \(fuzz.seed): \(text): \(whole), \(single), \(several)")
        return
      }
      guard whole.requests.allSatisfy({ Self.isSound($0) }) else {
        Issue.record("seed \(fuzz.seed): \(text): \(whole)")
        return
      }
      count += 1
    }
    print("RequestParserTests: seed \(fuzz.seed), \(count) changed inputs")
    if TestSeed.isSoak { #expect(count >= 6000) }
  }

  /// Checks every accepted request, without the parser.
  private static func isSound(_ request: ParsedRequests.Request) -> Bool {
    let scalars = Array(request.head.unicodeScalars)
    for (index, scalar) in scalars.enumerated() {
      if scalar == "\n", index == 0 || scalars[index - 1] != "\r" { return false }
      if scalar == "\r", index + 1 == scalars.count || scalars[index + 1] != "\n" { return false }
      if scalar.value < 0x20, !["\r", "\n", "\t"].contains(scalar) { return false }
    }
    let lines = request.head.split(separator: "\r\n", omittingEmptySubsequences: false)
    guard lines.count >= 3, lines.last == "", lines[lines.count - 2] == "" else { return false }
    let names = lines.dropFirst().dropLast(2).map { $0.prefix { $0 != ":" }.lowercased() }
    let lengths = names.count { $0 == "content-length" }
    let codings = names.count { $0 == "transfer-encoding" }
    let hosts = names.count { $0 == "host" }
    guard codings == 0, hosts <= 1, hosts == 1 || lines[0].hasSuffix("1.0"),
      names.allSatisfy({ !$0.isEmpty && !$0.contains(" ") && !$0.contains("\t") })
    else { return false }
    guard let length = request.length else { return lengths == 0 && request.body.isEmpty }
    let got = Int64(request.body.count)
    return lengths == 1 && (request.isComplete ? got == length : got < length)
  }
}

/// A parser's result for a stream, in a comparable form: bodies joined, heads as sent.
struct ParsedRequests: Equatable {
  struct Request: Equatable {
    var head: String
    var length: Int64?
    var keepsAlive: Bool
    var expectsContinue: Bool
    /// The presence of fields that decide how a request is handled.
    var marks: [Bool]
    var body: [UInt8] = []
    var isComplete = false
  }

  var requests: [Request] = []
  /// The error of a stream that is refused, or that ends within a request.
  var httpError: HTTPError?

  /// - Parameter pieces: the stream in the pieces in which it arrives.
  init(_ pieces: [[UInt8]], limits: RequestParser.Limits = .init()) {
    var parser = RequestParser(limits: limits)
    var buffer = ByteBuffer()
    do throws(HTTPError) {
      for piece in pieces {
        buffer.writeBytes(piece)
        while let event = try parser.next(&buffer) { take(event) }
      }
      if !parser.isAtStart { throw HTTPError(400, "The request is not complete.") }
    } catch {
      httpError = error
    }
  }

  var isEveryRequestComplete: Bool { requests.allSatisfy { $0.isComplete } }

  init(_ text: String, limits: RequestParser.Limits = .init()) {
    self.init([Array(text.utf8)], limits: limits)
  }

  private mutating func take(_ event: RequestParser.Event) {
    switch event {
    case .head(let head):
      requests.append(
        Request(
          head: String(buffer: head.bytes), length: head.contentLength, keepsAlive: head.keepsAlive,
          expectsContinue: head.expectsContinue,
          marks: [head.isConditional, head.hasDirectives, head.hasAuthorization, head.hasCookie],
          isComplete: !head.hasBody))
    case .body(let bytes):
      guard let last = requests.indices.last else { return }
      if let bytes {
        requests[last].body += Array(bytes.readableBytesView)
      } else {
        requests[last].isComplete = true
      }
    }
  }
}
