// SPDX-License-Identifier: MIT
import ArgumentParser
import Refrain
import Testing

@testable import RefrainCLI

struct CommandLineTests {
  @Test func globalOptionsGoBeforeOrAfterTheCommand() throws {
    for line in [["--cache", "/c", "--json", "ls"], ["ls", "--cache", "/c", "--json"]] {
      let command = try #require(try RefrainCommand.parseAsRoot(line) as? ListCommand)
      #expect(command.options.cache == "/c")
      #expect(command.options.json)
    }
  }

  @Test func limitIsTenGibibytesUnlessToldOtherwise() throws {
    let command = try #require(try RefrainCommand.parseAsRoot(["ls"]) as? ListCommand)
    #expect(command.options.configuration.limit == 10 << 30)
    let unlimited = try #require(
      try RefrainCommand.parseAsRoot(["ls", "--limit", "none"]) as? ListCommand)
    #expect(unlimited.options.configuration.limit == nil)
  }

  @Test func headersAreSentInTheirOrder() throws {
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
  ])
  func wrongUsageIs64(_ line: [String]) {
    do {
      _ = try RefrainCommand.parseAsRoot(line)
      Issue.record("was taken")
    } catch {
      #expect(RefrainCommand.exitCode(for: error).rawValue == 64)
    }
  }

  @Test(arguments: ["play", "get", "ls", "info", "path", "rm", "verify"])
  func helpOfEveryCommandHasExamples(_ name: String) {
    let type = RefrainCommand.configuration.subcommands.first {
      $0.configuration.commandName == name
    }
    #expect(type?.configuration.abstract.isEmpty == false)
    #expect(type?.configuration.discussion.contains("refrain \(name)") == true)
  }
}
