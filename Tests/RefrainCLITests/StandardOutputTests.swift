// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// `refrain get --output -`.
  @Suite(.timeLimit(.minutes(2)))
  struct StandardOutputTests {
    private static let bytes = SyntheticBytes(seed: 7).bytes(in: 0..<3_000_000)

    /// Runs a line of shell in which `$0` is the program and `$1` the URL.
    private func shell(
      _ line: String, _ program: Program, _ url: String
    ) throws -> RunningProgram {
      try RunningProgram(
        program, path: "/bin/bash",
        ["-c", "cd '\(program.directory.path())'; \(line)", Program.executable().path(), url])
    }

    @Test func `Only the resource is written to standard output`() async throws {
      try await Program.withSong(Self.bytes) { program, _, url in
        let run = try shell(#""$0" get -o - "$1" > out; echo "code $?""#, program, url)
        #expect(try await run.nextLine() == "code 0")
        #expect(await run.end() == 0)
        let out = program.directory.appending(path: "out")
        #expect(try Data(contentsOf: out) == Data(Self.bytes))
        #expect(!FileManager.default.fileExists(atPath: program.directory.path() + "-"))
        // Progress goes to standard error.
        #expect(run.errors.contains("song.flac: 100% of 2.9 MiB"))
        #expect(try await program.run("path", url).status == 0)
      }
    }

    @Test func `A closed pipe ends get without an error message`() async throws {
      try await Program.withSong(Self.bytes) { program, _, url in
        let line = #""$0" get --log-level error -o - "$1" 2> said | head -c 1000 | wc -c;"#
        let run = try shell("\(line) echo ${PIPESTATUS[0]}", program, url)
        #expect(try await run.nextLine() == "1000")
        // The shell's notation for an end by SIGPIPE.
        #expect(try await run.nextLine() == "141")
        let said = try String(
          contentsOf: program.directory.appending(path: "said"), encoding: .utf8)
        #expect(!said.contains("refrain:"))
      }
    }

    @Test func `A missing resource is a failure, and JSON cannot share the output`() async throws {
      try await Program.withOrigin { program, origin in
        let url = origin.url("/no").absoluteString
        let run = try await program.run("get", "-o", "-", url)
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.errorLines.count == 1 && run.errors.contains("404"))
        #expect(try await program.run("get", "--json", "-o", "-", url).status == 64)
      }
    }
  }
#endif
