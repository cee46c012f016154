// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// The values of Host that a proxy accepts: its own addresses and the names that it was given. A web
/// page of another name that points to it (DNS rebinding) reaches nothing. A balancer passes on the
/// name and the port at which clients reached it.
@Suite(.timeLimit(.minutes(2))) struct HostTests {
  /// `PORT` is the proxy's own.
  private static let own = [
    "127.0.0.1:PORT", "localhost:PORT", "LOCALHOST:PORT", "localhost.:PORT", "[::1]:PORT",
    "[0:0::1]:PORT", "127.0.0.5:PORT", "10.0.0.9",
    // Given names, except loopback ones, have any port.
    "music.local", "music.local:PORT", "Music.Local.:PORT", "music.local:80", "MUSIC.local:8443",
  ]
  private static let foreign = [
    "", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:1", "127.0.0.2:PORT", "evil.example",
    "evil.example:PORT", "localhost", "localhost:1", "localhost.evil.example:PORT",
    "xlocalhost:PORT", "127.0.0.1:PORT.", "u@localhost:PORT", "[::2]:PORT", "127.0.0.1:0PORT",
    "localhost..:PORT", "music.local.evil.example", "xmusic.local", "other.local", "127.0.0.5",
    "127.0.0.5:80", "[::1]:80", "127.0.0.1.nip.io:PORT", "127.1:PORT", "0x7f000001:PORT",
  ]

  @Test func `A foreign Host is refused, even after valid requests on one connection`()
    async throws
  {
    let names = ["Music.local", "10.0.0.9", "127.0.0.5", "[::1]"]
    try await withReverseProxy(proxy: { $0.names = names }) { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      func named(_ text: String) -> String { text.replacing("PORT", with: "\(test.port)") }
      for host in Self.own.map(named) {
        for _ in 0..<2 {
          #expect(try await test.reply(to: "/a", host: host).status == 200, "\(host)")
        }
      }
      for host in Self.foreign.map(named) {
        try await test.connect { connection async throws in
          for _ in 0..<2 {
            #expect(try await connection.reply(to: "/a", host: test.host).status == 200)
          }
          let reply = try await connection.reply(to: "/a", host: host)
          // Some are no host at all.
          #expect(reply.status == 421 || Authority(host) == nil && reply.status == 400, "\(host)")
        }
        guard Authority(host) != nil else { continue }
        // In absolute form the target takes precedence.
        #expect(try await test.reply(to: "http://\(host)/a").status == 421, "\(host)")
      }
      let absolute = try await test.reply(to: "http://\(test.host)/a", host: "evil.example")
      #expect(absolute.status == 200)
    }
  }

  @Test func `A proxy of many origins refuses a foreign Host`() async throws {
    try await withProxy { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=600"])
      let target = try test.target("/a")
      for host in ["evil.example:\(test.port)", "127.0.0.1", "localhost:1"] {
        for _ in 0..<2 { #expect(try await test.reply(to: target).status == 200) }
        #expect(try await test.reply(to: target, host: host).status == 421, "\(host)")
        #expect(try await test.reply(to: "http://\(host)\(target)").status == 421, "\(host)")
      }
    }
  }

  @Test func `The error for another name says how the proxy gets that name`() async throws {
    try await withReverseProxy { test async throws in
      let reply = try await test.reply(to: "/a", host: "tv.example.org")
      #expect(reply.status == 421)
      #expect(reply.text.contains("'serve --name'"))
    }
  }

  @Test(arguments: [
    "https://media.example.org", "media.example.org/", "*.example.org", "a b", "", "::1", ":80",
  ])
  func `A name that no request can have is refused`(_ name: String) {
    var configuration = CacheProxy.Configuration()
    configuration.names = ["media.example.org", name]
    let error = #expect(throws: CacheProxyError.self) { _ = try Routes(configuration) }
    #expect(error?.code == .invalidConfiguration)
    #expect(error?.reason.contains("not a valid name") == true)
    configuration.names = ["media.example.org:8080", "tv", "[::1]", "192.0.2.1"]
    #expect(throws: Never.self) { _ = try Routes(configuration) }
  }

  @Test(
    arguments: [
      ("10.0.0.5:8080", true), ("[::ffff:10.0.0.5]:8080", true), ("[::FFFF:a00:5]:8080", true),
      ("[2001:db8::1]:8080", true), ("10.0.0.5", false), ("10.0.0.5:80", false),
      ("10.0.0.6:8080", false), ("[::10.0.0.5]:8080", false), ("[::ffff:10.0.0.6]:8080", false),
    ])
  func `An IPv4 address is recognized at a socket for IPv6`(value: String, isOurs: Bool) {
    for address in ["::ffff:10.0.0.5", "[::ffff:10.0.0.5]"] {
      let check = HostCheck(names: [], machine: "here")
      #expect(check.isOurs(value, at: [address, "::", "2001:db8::1"], port: 8080) == isOurs)
    }
  }

  @Test func `Port 80 may be omitted`() {
    let check = HostCheck(names: [], machine: "here")
    func isOurs(_ value: String) -> Bool { check.isOurs(value, at: ["127.0.0.1"], port: 80) }
    #expect(isOurs("127.0.0.1") && isOurs("localhost:80"))
    #expect(!isOurs("127.0.0.1:8080"))
  }
}
