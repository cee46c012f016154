// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy
import RefrainServer
import Testing

@testable import RefrainCLI

struct CommandLineTests {
  @Test func `Global options go before or after the command`() throws {
    for line in [["--cache", "/c", "--json", "ls"], ["ls", "--cache", "/c", "--json"]] {
      let command = try #require(try RefrainCommand.parseAsRoot(line) as? ListCommand)
      #expect(command.options.cache == "/c")
      #expect(command.options.json)
    }
  }

  @Test func `The limit is ten gibibytes by default`() throws {
    let command = try #require(try RefrainCommand.parseAsRoot(["ls"]) as? ListCommand)
    #expect(command.options.configuration.limit == 10 << 30)
    let unlimited = try #require(
      try RefrainCommand.parseAsRoot(["ls", "--limit", "none"]) as? ListCommand)
    #expect(unlimited.options.configuration.limit == nil)
  }

  @Test func `Headers keep their order`() throws {
    let command = try #require(
      try RefrainCommand.parseAsRoot([
        "get", "--header", "A: 1", "http://h/x", "--header", "B: 2", "--header", "A: 3",
      ]) as? GetCommand)
    let resource = command.options.resource(command.urls[0])
    #expect(resource.headers.values(of: "a") == ["1", "3"])
    #expect(resource.headers.fields.map(\.name) == ["A", "B", "A"])
  }

  @Test(arguments: [
    ["get"], ["get", "ftp://h/x"], ["get", "--output", "f", "http://h/a", "http://h/b"],
    ["get", "http://h/x", "--header", "no colon"], ["ls", "--limit", "5Q"],
    ["ls", "--log-level", "loud"], ["rm"], ["rm", "--all", "http://h/x"], ["nonsense"],
    ["path", "song.flac"], ["info"], ["play"], ["play", "--sample", "http://h/x"],
    ["play", "--start", "-5", "http://h/x"],
    ["serve", "--port", "65536"], ["serve", "--port", "x"], ["serve", "--listen", "a b"],
    ["serve", "--listen", "0.0.0.0"], ["serve", "--listen", "[::]:80"], ["serve", "http://h/x"],
    ["serve", "--listen", "media.local"], ["serve", "--listen", ":80", "--port", "81"],
    ["serve", "--origin", "ftp://h/"], ["serve", "--max-connections", "0"], ["url"],
    ["url", "song.flac"], ["run"], ["run", "--"], ["run", "mpv", "http://h/x"], ["run", "--", ""],
  ])
  func `Wrong usage exits with 64`(_ line: [String]) {
    do {
      _ = try RefrainCommand.parseAsRoot(line)
      Issue.record("was taken")
    } catch {
      #expect(RefrainCommand.exitCode(for: error).rawValue == 64)
    }
  }

  @Test(arguments: [
    "play", "get", "run", "serve", "url", "ls", "info", "path", "rm", "verify",
  ])
  func `The help of every command has examples`(_ name: String) {
    let type = RefrainCommand.configuration.subcommands.first {
      $0.configuration.commandName == name
    }
    #expect(type?.configuration.abstract.isEmpty == false)
    #expect(type?.configuration.discussion.contains("refrain \(name)") == true)
  }

  private func serve(_ line: String...) throws -> CacheProxy.Configuration {
    let command = try #require(try RefrainCommand.parseAsRoot(["serve"] + line) as? ServeCommand)
    return command.serverConfiguration(token: "a token of the tests").proxy
  }

  @Test func `The proxy listens on the loopback address by default`() throws {
    let plain = try serve()
    #expect(plain.address == "127.0.0.1" && plain.port == 8573)
    #expect(plain.token != nil && plain.origin == nil && plain.maximumConnections == nil)
    #expect(try serve("--port", "0").port == 0)
    #expect(try serve("--listen", "[::1]:80").address == "::1")
    #expect(try serve("--listen", "[::1]:80", "--port", "80").port == 80)
    #expect(try serve("--listen", "::1").port == 8573)
  }

  @Test func `A public address is accepted with allowed hosts or an origin`() throws {
    let hosts = try serve(
      "--listen", "0.0.0.0", "--allow-host", "a.org", "--allow-host", "*.b.org", "--name", "tv")
    #expect(hosts.address == "0.0.0.0" && hosts.token != nil)
    #expect(hosts.allowedHosts == ["a.org", "*.b.org"] && hosts.names == ["tv"])
    let origin = try serve("--listen", "[::]:80", "--origin", "https://a.org/media")
    #expect(origin.origin?.absoluteString == "https://a.org/media" && origin.token == nil)
  }

  /// RFC 9111 §1: what several people receive comes from a shared cache.
  @Test(arguments: [
    ([], false), (["--listen", "[::1]:80"], false),
    (["--listen", "0.0.0.0", "--allow-host", "a.org"], true),
    (["--origin", "https://a.org"], true),
  ])
  func `A cache that serves others is shared`(_ line: [String], _ isShared: Bool) throws {
    let command = try RefrainCommand.parseAsRoot(["serve"] + line) as? ServeCommand
    #expect(command?.cacheConfiguration().isShared == isShared)
  }

  @Test func `Proxy options reach the proxy`() throws {
    let all = try serve(
      "--whole", "--max-connections", "7", "--allow-origin", "https://a.org", "--header", "A: 1")
    #expect(all.fetchesWhole && all.maximumConnections == 7)
    #expect(all.allowedWebOrigin == "https://a.org" && all.headers["a"] == "1")
  }

  @Test func `Arguments after the dashes belong to the program`() throws {
    let line = ["run", "--whole", "--", "mpv", "--json", "--", "http://h/x", "--help"]
    let command = try #require(try RefrainCommand.parseAsRoot(line) as? RunCommand)
    #expect(command.command == ["mpv", "--json", "--", "http://h/x", "--help"])
    #expect(command.whole && !command.options.json)
  }
}
