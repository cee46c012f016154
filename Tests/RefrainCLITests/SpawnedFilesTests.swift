// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// The descriptors of programs that tests start.
  @Suite(.timeLimit(.minutes(1))) struct SpawnedFilesTests {
    /// A socket that is not close-on-exec, as those of SwiftNIO.
    private final class InheritableSocket {
      let descriptor: CInt
      /// The text by which /proc/self/fd shows it.
      let name: String

      init() throws {
        let file = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var status = stat()
        let result = fstat(file, &status)
        try #require(result == 0)
        (descriptor, name) = (file, "socket:[\(status.st_ino)]")
      }

      deinit { close(descriptor) }
    }

    /// Lists the descriptors of the shell.
    private static let listing = ["-c", "ls -l /proc/$$/fd && echo all"]
    private static let shell = URL(filePath: "/bin/sh")

    @Test func `A leashed process inherits no socket`() async throws {
      try await Program.with { program in
        let socket = try InheritableSocket()
        let output = program.directory.appending(path: "output")
        let process = try LeashedProcess(
          Self.shell, Self.listing, in: program.directory, output: output)
        #expect(try await process.exitStatus(within: .seconds(50)) == 0)
        let listed = try String(contentsOf: output, encoding: .utf8)
        #expect(listed.hasSuffix("all\n") && !listed.contains(socket.name), "\(listed)")
      }
    }

    @Test func `A running program inherits no socket but those passed to it`() async throws {
      try await Program.with { program in
        let (socket, passed) = (try InheritableSocket(), try InheritableSocket())
        for sockets in [[], [(name: "a", descriptor: passed.descriptor)]] {
          let running = try RunningProgram(
            program, path: "/bin/sh", Self.listing, sockets: sockets)
          var listed = ""
          for await line in running.lines { listed += line + "\n" }
          #expect(await running.end() == 0)
          #expect(listed.hasSuffix("all\n") && !listed.contains(socket.name), "\(listed)")
          #expect(listed.contains(passed.name) != sockets.isEmpty, "\(listed)")
        }
      }
    }

    @Test func `Foundation's processes inherit no socket`() async throws {
      let socket = try InheritableSocket()
      let (process, output) = (Process(), Pipe())
      process.executableURL = Self.shell
      process.arguments = Self.listing
      process.standardOutput = output
      let (ends, ended) = AsyncStream<Void>.makeStream()
      process.terminationHandler = { _ in ended.finish() }
      try process.run()
      for await _ in ends {}
      // Shorter than the pipe's buffer.
      let listed = String(
        decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      #expect(listed.hasSuffix("all\n") && !listed.contains(socket.name), "\(listed)")
    }
  }
#endif
