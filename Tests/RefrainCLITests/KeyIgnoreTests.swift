// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import OriginServer
import Refrain
import Testing

@testable import RefrainCLI

/// `--key-ignore`: query parameters that cache keys ignore.
@Suite(.timeLimit(.minutes(2)))
struct KeyIgnoreTests {
  private let url = "https://cdn.example.org/song.flac?id=1&token=2&X-Amz-Date=3"

  /// Returns the query of the URL's key.
  private func query(_ options: GlobalOptions) throws -> String {
    let url = try #require(URL(string: url))
    let key = options.configuration.cacheKey(url).rawValue
    return String(key.drop { $0 != "?" })
  }

  private func exitCode(_ line: [String]) -> CInt {
    do {
      _ = try RefrainCommand.parseAsRoot(line)
      return 0
    } catch {
      return RefrainCommand.exitCode(for: error).rawValue
    }
  }

  @Test(arguments: [
    (["token"], "?id=1&X-Amz-Date=3"),
    (["token", "X-Amz-*"], "?id=1"),
    (["cdn.example.org/token"], "?id=1&X-Amz-Date=3"),
    (["*.example.org/X-Amz-*", "id"], "?token=2"),
    (["example.org/token"], "?id=1&token=2&X-Amz-Date=3"),
    (["cdn.example.org/*"], ""),
    ([], "?id=1&token=2&X-Amz-Date=3"),
  ])
  func `Named parameters are not in the key`(_ names: [String], _ expected: String) throws {
    let line = ["ls"] + names.flatMap { ["--key-ignore", $0] }
    let command = try #require(try RefrainCommand.parseAsRoot(line) as? ListCommand)
    #expect(try query(command.options) == expected)
  }

  @Test func `Commands that open the cache agree on the key`() throws {
    let (option, url) = (["--key-ignore", "token"], "http://h/a")
    var lines = [
      ["get", url], ["run", "--", "mpv", url], ["serve"], ["url", url], ["ls"], ["info", url],
      ["path", url], ["rm", url], ["verify", url],
    ]
    #if os(Linux)
      lines.append(["play", url])
    #endif
    for line in lines {
      for whole in [option + line, line.prefix(1) + option + line.dropFirst()] {
        let command = try RefrainCommand.parseAsRoot(whole)
        let options = Mirror(reflecting: command).children.lazy.compactMap { child in
          (child.value as? OptionGroup<GlobalOptions>)?.wrappedValue
        }
        #expect(try query(#require(options.first)) == "?id=1&X-Amz-Date=3", "\(whole)")
      }
    }
  }

  @Test(arguments: [
    "", "h/", "/token", "token=1", "?token", "a&b", "a b", "a#b", "X*Amz", "*", "**",
    "https://example.org/token", "example.org:80/token", "*.127.0.0.1/token", "a*.org/token",
    "me@example.org/token", "_HLS_msn", "example.org/_HLS_*",
  ])
  func `An unusable name is refused`(_ text: String) {
    #expect(throws: InvalidArgument.self) { try IgnoredParameter(parsing: text) }
    #expect(exitCode(["ls", "--key-ignore", text]) == 64)
  }

  @Test func `The first slash separates host and name`() throws {
    #expect(try IgnoredParameter(parsing: "h/a/b").host == "h")
    #expect(try IgnoredParameter(parsing: "h/a/b").name == "a/b")
    #expect(try IgnoredParameter(parsing: "a%2Fb").host == nil)
    #expect(try IgnoredParameter(parsing: "[::1]/t").host == "[::1]")
  }

  @Test func `A cache for everybody ignores no parameter`() {
    let origin = ["serve", "--origin", "https://example.org"]
    #expect(exitCode(origin) == 0)
    #expect(exitCode(["serve", "--key-ignore", "token"]) == 0)
    #expect(exitCode(origin + ["--key-ignore", "token"]) == 64)
    #expect(exitCode(["--key-ignore", "h/token"] + origin) == 64)
    let listening = ["serve", "--listen", "0.0.0.0", "--allow-host", "h"]
    #expect(exitCode(listening) == 0)
    #expect(exitCode(listening + ["--key-ignore", "token"]) == 64)
  }

  #if os(Linux)
    @Test func `A song is found under another token`() async throws {
      let headers = [Field("Cache-Control", "max-age=1000")]
      try await Program.withSong(Array("music".utf8), headers: headers) { program, origin, url in
        let (old, new) = ("\(url)?pass=1", "\(url)?pass=2")
        let ignore = ["--key-ignore", "127.0.0.1/pa*"]
        #expect(try await program.run(["get", old] + ignore).status == 0)
        let before = origin.log("/song.flac").requests.count
        let got = try await program.run(["get", "--output", "-", new] + ignore)
        #expect(got.status == 0 && got.output == "music")
        #expect(origin.log("/song.flac").requests.count == before)

        let path = try await program.run(["path", new] + ignore)
        let file = path.output.trimmingCharacters(in: .newlines)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "music")
        #expect(try await program.run(["info", new] + ignore).status == 0)
        #expect(try await program.run(["ls"] + ignore).lines.last?.hasPrefix("1 entry") == true)
        #expect(try await program.run("path", new).status == 1)

        #expect(try await program.run(["rm", new] + ignore).status == 0)
        #expect(try await program.run(["path", old] + ignore).status == 1)
      }
    }
  #endif
}
