// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainCLI

/// The text of a configuration file.
struct ConfigurationFileTests {
  private func file(_ text: String) throws -> ConfigurationFile {
    try ConfigurationFile(parsing: text, path: "/f")
  }

  @Test func `Each line is an option of the command line`() throws {
    let file = try file(
      "# a comment\n\nallow-host example.org\n\tallow-host   *.example.org \r\nquiet\n"
        + "header X-Key: a b=c # d\nlimit 20G")
    #expect(
      file.arguments == [
        "--allow-host=example.org", "--allow-host=*.example.org", "--quiet",
        "--header=X-Key: a b=c # d", "--limit=20G",
      ])
    #expect(file.lines.map(\.number) == [3, 4, 5, 6, 7])
  }

  @Test(arguments: ["", "\n", "#\n#x", "  \t\r\n", "\u{FEFF}# x\n"])
  func `A file without options is empty`(_ text: String) throws {
    #expect(try file(text).lines.isEmpty)
  }

  @Test func `A byte order mark is no part of a name`() throws {
    #expect(try file("\u{FEFF}quiet").arguments == ["--quiet"])
  }

  @Test func `A value is never another option`() throws {
    #expect(try file("name --quiet\nlimit -5").arguments == ["--name=--quiet", "--limit=-5"])
  }

  @Test(arguments: [
    ("--port 80", "Write 'port'."), ("-h", "Write 'h'."), ("limit=20G", "Write 'limit 20G'."),
    ("Limit 20G", "'refrain help serve' lists the options."), ("config x", "Remove the line."),
    ("help", "Remove the line."), ("version", "Remove the line."),
    ("größe 5", "'refrain help serve' lists the options."),
    ("quiet\u{0}", "'refrain help serve' lists the options."),
  ])
  func `An error names the line and the remedy`(_ line: String, _ remedy: String) {
    let error = #expect(throws: ConfigurationError.self) { try file("# one\nquiet\n" + line) }
    #expect(error?.place == "/f, line 3")
    #expect(error?.remedy == remedy)
  }

  @Test func `Changes are the options that differ, and not comments or places`() throws {
    let old = try file("port 80\nallow-host a.org\nallow-host b.org\nquiet\nlimit 1G")
    let new = try file("# new\nlimit 1G\nallow-host a.org\nport 81\nquiet\nhours 01-07")
    #expect(old.changes(to: new) == ["allow-host", "hours", "port"])
    #expect(old.changes(to: old).isEmpty)
  }
}
