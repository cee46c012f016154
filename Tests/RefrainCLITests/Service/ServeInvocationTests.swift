// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import RefrainProxy
import Testing

@testable import RefrainCLI

/// The options of `refrain serve --config`: those of the file and those of the command line.
struct ServeInvocationTests {
  private func invocation(_ text: String, _ arguments: String...) throws -> ServeInvocation {
    try ServeInvocation(
      path: "/f", file: ConfigurationFile(parsing: text, path: "/f"), arguments: arguments)
  }

  private func error(_ text: String, _ arguments: String...) -> ConfigurationError? {
    #expect(throws: ConfigurationError.self) {
      try ServeInvocation(
        path: "/f", file: ConfigurationFile(parsing: text, path: "/f"), arguments: arguments)
    }
  }

  /// Runs `body` with a file of that text.
  private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory
      .appending(path: "refrain-configuration-\(UUID().uuidString)")
    try Data(text.utf8).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url.path(percentEncoded: false))
  }

  @Test func `The command line overrides the file, and adds to its lists`() throws {
    let command = try invocation(
      "port 80\nlimit 1G\nallow-host a.org\nquiet\nlog-level debug", "--limit", "2G",
      "--allow-host", "b.org"
    ).command
    #expect(command.port == 80 && command.quiet)
    #expect(command.options.limit.bytes == 2 << 30)
    #expect(command.allowedHosts == ["a.org", "b.org"])
    #expect(command.options.logLevel == .debug)
  }

  @Test func `Options that need each other may be in different places`() throws {
    let command = try invocation("listen 0.0.0.0\nhours 01-07", "--whole", "--allow-host", "a.org")
      .command
    #expect(command.whole && command.limits.hours != nil)
    #expect(command.settings.allowedHosts == ["a.org"] && command.settings.fillHours != nil)
  }

  @Test(arguments: [
    ("quiet\nalow-host a.org", 2, "--allow-host"), ("port x", 1, "65535"),
    ("quiet yes", 1, "--quiet"), ("\n\nlimit", 3, "--limit"), ("log-level loud", 1, "debug"),
    ("quiet\nallow-host a b", 2, "not a valid host"), ("limit 5\nrequest-rate 0", 2, "0.001"),
    ("hours 01-07\nquiet", 1, "--whole"), ("listen 0.0.0.0", 1, "open proxy"),
    ("listen :80\nquiet\nport 81", 3, "--port 81"), ("node-name a b", 1, "node"),
    ("serve", 1, "serve"),
  ])
  func `An error names the line that has caused it`(
    _ text: String, _ line: Int, _ part: String
  ) {
    let error = error(text)
    #expect(error?.place == "/f, line \(line)")
    #expect(error?.reason.contains(part) == true, "\(String(describing: error))")
    #expect(error?.description.contains("\n") == false)
  }

  @Test func `An error of the command line blames no line of the file`() {
    #expect(error("quiet\nlimit 5G", "--prot", "80")?.place == "/f and the command line")
    #expect(error("quiet", "--listen", "0.0.0.0")?.place == "/f and the command line")
  }

  @Test func `The file is named before or after the command`() throws {
    try withFile("port 80\nlimit 1G") { path throws in
      for line in [
        ["serve", "--config", path], ["serve", "--config=\(path)", "--quiet"],
        ["serve", "--config", "/none", "--config", path],
        ["--limit", "1G", "serve", "--config", path],
        ["--cache", "serve", "--limit", "1G", "serve", "--config", path],
      ] {
        let invocation = try #require(try ServeInvocation.find(in: line), "\(line)")
        #expect(ServeInvocation.hasFile(line))
        #expect(invocation.path == path && invocation.command.port == 80)
        #expect(invocation.command.options.limit.bytes == 1 << 30)
      }
    }
  }

  @Test(arguments: [
    [], ["serve"], ["serve", "--quiet"], ["ls", "--cache", "serve"], ["help", "serve"],
    ["run", "--", "serve", "--config", "x"], ["get", "serve", "--config", "x"],
  ])
  func `Other command lines have no file`(_ line: [String]) throws {
    #expect(!ServeInvocation.hasFile(line))
    #expect(try ServeInvocation.find(in: line) == nil)
  }

  @Test func `Help is printed whatever the file contains`() throws {
    try withFile("quiet") { path throws in
      let error = #expect(throws: (any Error).self) {
        _ = try ServeInvocation.find(in: ["serve", "--config", path, "--help"])
      }
      #expect(error.map { RefrainCommand.exitCode(for: $0) } == .success)
    }
  }

  @Test func `A file is read again with the same command line`() throws {
    try withFile("limit 1G\nallow-host a.org") { path throws in
      let first = try #require(
        try ServeInvocation.find(in: ["serve", "--config", path, "--limit", "2G"]))
      try Data("limit 3G\nallow-host b.org\n".utf8).write(to: URL(filePath: path))
      let second = try first.readAgain()
      #expect(second.command.allowedHosts == ["b.org"])
      #expect(second.command.options.limit.bytes == 2 << 30)
      #expect(first.file.changes(to: second.file) == ["allow-host", "limit"])
    }
  }

  @Test func `What cannot be read as a file is an error`() throws {
    for path in ["/no/such/file", "/dev/null", "/"] {
      let error = #expect(throws: ConfigurationError.self) {
        _ = try ConfigurationFile(reading: path)
      }
      #expect(error?.place == path)
    }
    try withFile("quiet\n") { path throws in
      try Data([0xFF, 0xFE, 0x0A]).write(to: URL(filePath: path))
      #expect(throws: ConfigurationError.self) { try ConfigurationFile(reading: path) }
      try Data(repeating: 0x23, count: 2 << 20).write(to: URL(filePath: path))
      #expect(throws: ConfigurationError.self) { try ConfigurationFile(reading: path) }
    }
  }

  @Test func `What can change while the proxy runs are options of serve`() {
    let help = RefrainCommand.helpMessage(for: ServeCommand.self)
    for name in ServeReloading.changeable {
      #expect(help.contains("--\(name) "), "\(name)")
    }
  }
}
