// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

@Suite struct URLFuzzTests {
  private let token = "abcdefghijklmnop"

  private static func rest(_ fuzz: inout Fuzz) -> String {
    let host = fuzz.pick([
      "a.example", "A.Example:80", "127.0.0.1:8080", "[::1]", "%5B2001:db8::1%5d:443", "b.example.",
      "u@a.example", "a.example%2Fb", "evil.example\\@a.example", "a.example:99999", "xn--a", "..",
    ])
    var text = "/\(fuzz.pick(["http", "https", "https", "ftp"]))/\(host)"
    for _ in 0..<fuzz.number(below: 5) {
      text +=
        "/"
        + fuzz.pick([
          "", "a", "b.mp3", "%2F", "%2e", "..", "%zz", "@evil.example", "http:", "a:b", "[x]",
          "a;b=c", "\\", "%", "|", "~!$&'()*+,", "%E4", "a%00b", "%23", "%3F", "^`{}",
        ])
    }
    if fuzz.oneIn(2) {
      text += "?" + fuzz.pick(["", "a=b&c", "?", "/../x", "a%26b", "%", "[]", "http://e.example/"])
    }
    return text
  }

  @Test func `A parsed target has exactly the host and path written in it`() {
    var fuzz = Fuzz()
    print("URLFuzzTests: seed \(fuzz.seed)")
    var count = 0
    while !fuzz.isOver {
      var rest = Self.rest(&fuzz)
      if fuzz.oneIn(2) {
        let bytes = fuzz.mutated(Array(rest.utf8), with: Array("/?#@:%.[]\\2eE0; \t".utf8))
        rest = String(decoding: bytes, as: UTF8.self)
      }
      // A session stands before the same URL.
      let session = rest.hasPrefix("/") && fuzz.oneIn(4) ? "/~session" : ""
      guard let url = try? ProxyURL.parse(target: "/\(token)\(session)\(rest)", token: token).url
      else { continue }
      count += 1
      guard Self.isTrue(url, to: rest), isReturned(url) else {
        Issue.record("seed \(fuzz.seed): \(rest.debugDescription): \(url.absoluteString)")
        return
      }
    }
    #expect(count > 10)
  }

  /// Checks with Foundation's own parsing of the URL, and with simple splitting.
  private static func isTrue(_ url: URL, to rest: String) -> Bool {
    let bytes = rest.components(separatedBy: "?")[0].components(separatedBy: "/")
    guard bytes.count >= 3, bytes[0].isEmpty, url.scheme == bytes[1], url.user() == nil,
      url.password() == nil, url.fragment() == nil
    else { return false }
    var authority = bytes[2].lowercased()
    for (encoded, byte) in [("%5b", "["), ("%5d", "]"), ("%3a", ":")] {
      authority = authority.replacingOccurrences(of: encoded, with: byte)
    }
    guard let host = url.host(percentEncoded: true) else { return false }
    // Whether an address has its brackets depends on the platform.
    let plain = host.hasPrefix("[") || !host.contains(":") ? host : "[\(host)]"
    guard plain + (url.port.map { ":\($0)" } ?? "") == authority else { return false }
    let path = bytes.count > 3 ? "/" + bytes[3...].joined(separator: "/") : "/"
    let query = rest.firstIndex(of: "?").map { rest[$0...] } ?? ""
    let behindHost = url.absoluteString.dropFirst("\(bytes[1])://\(authority)".count)
    return decoded(behindHost) == decoded(path + query)
  }

  /// Decodes a path; an invalid `%` stands for itself.
  private static func decoded(_ text: some StringProtocol) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.wholeMatch(of: /[0-9a-fA-F]{2}/) != nil,
        let value = UInt8(digits, radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  private func isReturned(_ url: URL) -> Bool {
    guard let target = ProxyURL.target(for: url, token: token),
      let back = try? ProxyURL.parse(target: target, token: token).url
    else { return false }
    return back == url && back.absoluteString == url.absoluteString
  }

  @Test func `A parsed authority stays the same when parsed again`() {
    var fuzz = Fuzz()
    print("URLFuzzTests: seed \(fuzz.seed)")
    while !fuzz.isOver {
      let seed = fuzz.pick([
        "a.example:80", "[::ffff:1.2.3.4]:80", "127.0.0.1", "localhost.", "[2001:db8::1]", "a_b:1",
      ])
      let bytes = fuzz.mutated(Array(seed.utf8), with: Array(".:[]@/%01aAxfF-_".utf8))
      let text = String(decoding: bytes, as: UTF8.self)
      guard let authority = Authority(text) else { continue }
      guard authority.text == text.lowercased(), Authority(authority.text) == authority,
        Authority(authority.plainHost)?.plainHost == authority.plainHost,
        URL(string: "http://\(authority.text)/")?.port == authority.port
      else {
        Issue.record("seed \(fuzz.seed): \(text.debugDescription): \(authority)")
        return
      }
    }
  }
}
