// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The page of `refrain serve`, from outside.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(1))))
  struct ServePageProgramTests {
    @Test func `The page opens without its token among the arguments of a program`() async throws {
      try await Program.with { program in
        let folder = program.directory
        let browser = folder.appending(path: BrowserOpening.program)
        // Stands for the desktop's program.
        let script =
          "#!/bin/sh\necho \"$*\" > '\(folder.path())/said.new'\n"
          + "cp \"$1\" '\(folder.path())/opened' && mv '\(folder.path())/said.new' "
          + "'\(folder.path())/said'\n"
        try Data(script.utf8).write(to: browser)
        try FileManager.default.setAttributes(
          [.posixPermissions: 0o700], ofItemAtPath: browser.path())
        let serve = try RunningProgram(
          program, path: "/usr/bin/env",
          [
            "PATH=\(folder.path()):/usr/bin:/bin",
            try Program.executable().path(percentEncoded: false), "serve", "--port", "0", "--open",
          ])
        let base = try await serve.nextLine()
        let said = folder.appending(path: "said").path()
        try await eventually("the browser is asked") {
          FileManager.default.fileExists(atPath: said)
        }
        let arguments = try String(contentsOfFile: said, encoding: .utf8)
        let token = try #require(base.split(separator: "/").last)
        #expect(!arguments.contains(token))
        let opened = try String(
          contentsOf: folder.appending(path: "opened"), encoding: .utf8)
        #expect(opened.contains("url=\(base)\""))
        let file = arguments.trimmingCharacters(in: .whitespacesAndNewlines)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
        #expect(serve.errors.isEmpty)
      }
    }

    @Test func `Without a browser the proxy says so and serves`() async throws {
      try await Program.with { program in
        let folder = program.directory.appending(path: "empty")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let serve = try RunningProgram(
          program, path: "/usr/bin/env",
          [
            "PATH=\(folder.path())", try Program.executable().path(percentEncoded: false),
            "serve", "--port", "0", "--open",
          ])
        let base = try await serve.nextLine()
        try await eventually("the failure is reported") { serve.errors.contains("browser") }
        #expect(serve.errors.split(separator: "\n").count == 1)
        #expect(FreePort.accepts(try #require(URL(string: base)?.port)))
        serve.send(SIGTERM)
        _ = await serve.end()
      }
    }

    @Test func `A proxy of one origin has no page to open`() async throws {
      try await Program.with { program in
        let run = try await program.run("serve", "--origin", "https://example.org", "--open")
        #expect(run.status == 64)
        #expect(run.errors.contains("--open"))
      }
    }
  }
#endif
