// SPDX-License-Identifier: MIT
import Foundation
import Refrain

@testable import RefrainProxy

/// One client's actions on its connection, decided beforehand, and the expected responses.
struct FuzzedConnection: Sendable {
  enum Ending: Sendable { case read, close, reset }

  static let paths = ["/a.mp3", "/b.mp3"]
  static let lengths: [Int64] = [200_003, 70_001]
  static let bytes = lengths.indices.map { index in
    SyntheticBytes(seed: UInt64(index) + 1).bytes(in: 0..<lengths[index])
  }

  var pieces: [[UInt8]]
  var ending: Ending
  /// The most that is read, if the client leaves early.
  var readLimit: Int
  /// The expected responses; nil if bytes were changed, and anything may come.
  var expected: [Expected]?
  var secret: String

  struct Expected: Sendable {
    var isHEAD: Bool
    /// Nil: any refusal or error.
    var status: Int?
    var body: [UInt8]?
    /// Whether no response comes after it.
    var isLast: Bool
  }

  // MARK: Running

  /// - Returns: the error found, or nil.
  func run(port: Int) -> String? {
    do {
      let client = try PlainSocket(port: port)
      // A client that is refused early finds the connection closed; it reads the received bytes
      // nevertheless.
      for piece in pieces { guard try client.send(piece) else { break } }
      switch ending {
      case .close:
        client.close()
        return nil
      case .reset:
        _ = try client.receive(upTo: max(1, readLimit))
        client.reset()
        return nil
      case .read: break
      }
      let (received, wasReset) = try client.receiveToEnd()
      return judge(received, wasReset)
    } catch is PlainSocket.TookTooLong {
      return "it hangs: \(shown)"
    } catch {
      return "\(error): \(shown)"
    }
  }

  private var shown: String {
    String(decoding: pieces.joined().prefix(3000), as: UTF8.self).debugDescription
  }

  private func judge(_ received: [UInt8], _ wasReset: Bool) -> String? {
    let replies: [Reply]
    do {
      replies = try AnswerReader.read(received) { index in
        expected.map { index < $0.count && $0[index].isHEAD } ?? false
      }
    } catch {
      return wasReset ? nil : "\(error): \(shown)"
    }
    for (index, reply) in replies.enumerated() {
      guard reply.isComplete || wasReset else { return "answer \(index) ends early: \(shown)" }
      if reply.text.contains(secret) { return "a file was given away: \(shown)" }
      if let wrong = Self.wrongBytes(reply) { return "answer \(index): \(wrong): \(shown)" }
    }
    guard let expected, !wasReset else { return nil }
    guard replies.count == expected.count else {
      return "\(replies.map(\.status)) instead of \(expected.map(\.status)): \(shown)"
    }
    for (reply, wanted) in zip(replies, expected) {
      let isRight = wanted.status.map { $0 == reply.status } ?? (reply.status >= 300)
      guard isRight, wanted.body.map({ $0 == reply.body }) ?? true else {
        return "\(reply.status) with \(reply.body.count) bytes, not \(wanted.status ?? 0): \(shown)"
      }
    }
    return nil
  }

  /// Checks that the body is one of the two resources, or a text of the proxy's.
  private static func wrongBytes(_ reply: Reply) -> String? {
    guard reply.status == 200 || reply.status == 206, !reply.body.isEmpty, reply.isComplete,
      reply["Content-Type"] == "application/octet-stream"
    else { return nil }
    if reply.status == 200 { return bytes.contains(reply.body) ? nil : "wrong bytes" }
    let parts = (reply["Content-Range"] ?? "").split { " -/".contains($0) }
    guard parts.count == 4, let lower = Int(parts[1]), let upper = Int(parts[2]),
      let length = Int64(parts[3]), let index = lengths.firstIndex(of: length),
      lower <= upper, upper < bytes[index].count
    else { return "a strange Content-Range" }
    return areEqual(bytes[index][lower...upper], reply.body) ? nil : "wrong bytes"
  }
}

extension FuzzedConnection {
  /// Makes connections from random numbers.
  struct Maker {
    let test: TestProxy
    let forbidden: OriginServer
    let cachePath: String
    let secret: String
    private let token: String

    init(test: TestProxy, forbidden: OriginServer, cachePath: String, secret: String) {
      self.test = test
      self.forbidden = forbidden
      self.cachePath = cachePath
      self.secret = secret
      token = String(test.proxy.baseURL?.path.dropFirst().prefix { $0 != "/" } ?? "")
    }

    func serve() {
      for (index, path) in FuzzedConnection.paths.enumerated() {
        test.origin.serve(
          .synthetic(seed: UInt64(index) + 1, length: FuzzedConnection.lengths[index]), at: path)
      }
      forbidden.serve(.synthetic(seed: 3, length: 1000), at: "/x")
      test.origin.script(
        "/away", .on(.all, .redirect(302, to: forbidden.url("/x").absoluteString)))
    }

    func make(_ fuzz: inout Fuzz) -> FuzzedConnection {
      var bytes: [UInt8] = []
      var expected: [Expected] = []
      let isChanged = fuzz.oneIn(2)
      let most = fuzz.number(below: fuzz.oneIn(4) ? 12 : 3)
      for index in 0...most {
        // Without a last request, only the client could end the connection.
        let (text, wanted) = request(&fuzz, allowsHEAD: !isChanged, isLast: index == most)
        bytes += Array(text.utf8)
        expected.append(wanted)
        if wanted.isLast { break }
      }
      if isChanged {
        bytes = fuzz.mutated(
          bytes, with: Array("\r\n\r\n \t:;,/*?#%.0159aAxX\"\\-+@[]".utf8) + [0, 0x7F, 0x80, 0xFF])
      }
      let endings: [Ending] = [.read, .read, .read, .close, .reset]
      let ending = endings[fuzz.number(below: endings.count)]
      return FuzzedConnection(
        pieces: fuzz.oneIn(3) ? fuzz.split(bytes) : [bytes], ending: ending,
        readLimit: fuzz.number(below: 100_000), expected: isChanged ? nil : expected,
        secret: secret)
    }

    private func request(
      _ fuzz: inout Fuzz, allowsHEAD: Bool, isLast: Bool
    ) -> (String, Expected) {
      if fuzz.oneIn(4) { return hostile(&fuzz) }
      let index = fuzz.number(below: 2)
      let length = Int(FuzzedConnection.lengths[index])
      var target = "/\(token)/http/127.0.0.1:\(test.origin.port)\(FuzzedConnection.paths[index])"
      if let proxied = try? test.target(FuzzedConnection.paths[index]) { target = proxied }
      if fuzz.oneIn(3) { target = "http://\(test.host)\(target)" }
      let isHEAD = allowsHEAD && fuzz.oneIn(5)
      var wanted = Expected(
        isHEAD: isHEAD, status: 200, body: isHEAD ? [] : FuzzedConnection.bytes[index],
        isLast: isLast || fuzz.oneIn(4))
      var fields = ["Host: \(test.host)"]
      switch fuzz.number(below: 6) {
      case 0, 1, 2:
        let lower = fuzz.number(below: length)
        let upper = lower + fuzz.number(below: length)
        fields.append("Range: bytes=\(lower)-\(fuzz.oneIn(3) ? "" : String(upper))")
        let end = fields.last?.hasSuffix("-") == true ? length : min(length, upper + 1)
        if !isHEAD {
          wanted.status = 206
          wanted.body = Array(FuzzedConnection.bytes[index][lower..<end])
        }
      case 3:
        fields.append("If-None-Match: \"seed-\(index + 1)\"")
        wanted.status = 304
        wanted.body = []
      case 4: fields.append(fuzz.pick(["Accept: */*", "X-A: b", "User-Agent: a", "Cookie: a=b"]))
      default: break
      }
      if wanted.isLast { fields.append("Connection: close") }
      if fuzz.oneIn(3) { fields.reverse() }
      return (text(isHEAD ? "HEAD" : "GET", target, fields), wanted)
    }

    /// Returns a request that must be refused: none of it may be served.
    private func hostile(_ fuzz: inout Fuzz) -> (String, Expected) {
      let away = "127.0.0.1:\(forbidden.port)"
      let dots = fuzz.pick(["..", "%2e%2e", "%2E.", ".%2e", "..%2f..", "%252e%252e", "....//.."])
      let file = fuzz.pick(["secret", "etc/passwd", "proc/self/environ", "cache"])
      let path = Array(repeating: dots, count: 1 + fuzz.number(below: 6)).joined(separator: "/")
      let allowed = "127.0.0.1:\(test.origin.port)"
      let target = fuzz.pick([
        "/\(token)/http/\(away)/x", "/\(token)/http/\(away)@\(allowed)/x",
        "/\(token)/http/\(allowed)@\(away)/x", "/\(token)/http/\(away)%2f@\(allowed)/x",
        "http://\(away)/x", "/\(token)/http/\(allowed)/away",
        "/\(token)/http/localhost:\(forbidden.port)/x", "/\(token)/http/[::1]:\(forbidden.port)/x",
        "/\(token)/http/127.1:\(forbidden.port)/x", "/\(token)/http/\(allowed)/\(path)/\(file)",
        "/\(token)/\(path)/\(file)", "/\(path)/\(file)", "/\(token)/file/\(cachePath)/\(file)",
        "/\(token)/file:///\(file)", "/wrong-token-0123456789/http/\(allowed)/a.mp3",
        "/\(token)/\(path)/http/\(away)/x", "/\(token)/http/\(allowed)\(path)/\(file)",
      ])
      let wanted = Expected(isHEAD: false, status: nil, body: nil, isLast: true)
      return (text("GET", target, ["Host: \(test.host)", "Connection: close"]), wanted)
    }

    private func text(_ method: String, _ target: String, _ fields: [String]) -> String {
      "\(method) \(target) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }
  }
}
