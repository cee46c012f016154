// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// Commands that inspect a cache, where there is none.
  @Suite(.timeLimit(.minutes(2)))
  struct LookingTests {
    private func exists(_ url: URL) -> Bool {
      FileManager.default.fileExists(atPath: url.path(percentEncoded: false))
    }

    @Test func `Inspecting a missing cache creates nothing`() async throws {
      try await Program.with { program in
        let url = "https://example.org/song.flac"
        #expect(try await program.run("ls").output == "0 entries, 0 B of 10.0 GiB\n")
        #expect(try await program.run("ls", "--json").output == "[]\n")
        #expect(try await program.run("verify").output == "0 entries, all in order.\n")
        #expect(try await program.run("rm", "--all").output == "Freed 0 B.\n")
        for command in ["info", "path", "rm", "verify"] {
          let run = try await program.run(command, url)
          #expect(run.status == 1)
          #expect(run.errorLines.count == 1 && run.errors.contains("Nothing is stored for \(url)."))
        }
        #expect(!exists(program.cache))
      }
    }

    @Test func `An empty folder is left unchanged by ls`() async throws {
      try await Program.with { program in
        try FileManager.default.createDirectory(
          at: program.cache, withIntermediateDirectories: false)
        #expect(try await program.run("ls").status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: program.cache.path()).isEmpty)
      }
    }

    @Test func `A file in place of the cache folder is reported as a file`() async throws {
      try await Program.with { program in
        try Data("x".utf8).write(to: program.directory.appending(path: "file"))
        let path = program.directory.appending(path: "file").path(percentEncoded: false)
        let run = try await program.run("ls", "--cache", path)
        #expect(run.status == 1)
        #expect(
          run.errors
            == "refrain: \(path) is a file, not a folder. Name a folder for the cache.\n")
        let below = try await program.run("get", "--cache", "\(path)/x", "http://h/a")
        #expect(below.status == 1)
        #expect(below.errors.contains("cannot be used: Not a directory. A part of its path is"))
        #expect(!below.errors.contains("Error Domain"))
      }
    }
  }
#endif
