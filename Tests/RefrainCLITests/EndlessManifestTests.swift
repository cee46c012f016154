// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// `refrain serve` with a manifest that does not end: without a length, and all of it one line.
  /// The memory is that of a program of its own: here, other tests run at the same time.
  @Suite(
    .enabled(if: RequiredProgram.curl.isUsable), .timeLimit(.minutes(TestSeed.minutes(2))))
  struct EndlessManifestTests {
    /// In MiB.
    private static let length = TestSeed.isSoak ? 1024 : 64
    /// In KiB.
    private static let mostGrowth = 48 << 10

    /// Sends the beginning and then one letter, in chunks, however often it is asked; a short
    /// resource under every name that ends with `short`.
    private func server(_ beginning: String, _ type: String) throws -> RawServer {
      try RawServer { connection in
        let isShort = connection.readRequest().contains("short HTTP/1.1")
        let head =
          "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n"
          + "Connection: close\r\n\r\n"
        let size = String(beginning.utf8.count, radix: 16)
        guard connection.send("\(head)\(size)\r\n\(beginning)\r\n") else { return }
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
        let chunk = Array("100000\r\n".utf8) + line + Array("\r\n".utf8)
        for _ in 0..<(isShort ? 0 : Self.length) {
          guard connection.send(chunk) else { return }
        }
        guard connection.send("0\r\n\r\n") else { return }
        connection.endSending()
        connection.waitForEnd()
      }
    }

    /// Returns the only line that a script prints.
    private func line(
      of script: String, _ argument: String, _ program: Program
    ) async throws -> String {
      let shell = try RunningProgram(
        program, path: "/bin/bash", ["-c", "set -o pipefail; \(script)", argument])
      let line = try await shell.nextLine()
      let status = await shell.end()
      #expect(status == 0, "\(shell.errors)")
      return line
    }

    @Test(arguments: [
      ("/endless.m3u8", "#EXTM3U", "application/vnd.apple.mpegurl"),
      ("/endless.mpd", "<MPD x=\"", "application/dash+xml"),
    ])
    func `A manifest of one endless line passes unchanged, and is not kept in memory`(
      _ path: String, _ beginning: String, _ type: String
    ) async throws {
      let origin = try server(beginning, type)
      defer { origin.stop() }
      try await Program.with { program in
        let serve = try await program.serve()
        let process = serve.running.process
        let fetch = "\(try RequiredProgram.curl.path.path()) -sSf \"$0\" | sha256sum"
        // What the first request needs for good.
        let short = try await program.proxied(try origin.url(path + "?short").absoluteString)
        _ = try await line(of: fetch, short.absoluteString, program)
        let before = try #require(ProcessFigures(of: process)).memory

        let url = try await program.proxied(try origin.url(path).absoluteString)
        let watch = Task {
          var most = 0
          while !Task.isCancelled {
            most = max(most, ProcessFigures(of: process)?.memory ?? 0)
            try? await Task.sleep(for: .milliseconds(10))
          }
          return most
        }
        defer { watch.cancel() }
        let received = try await line(of: fetch, url.absoluteString, program)
        watch.cancel()
        let after = try #require(ProcessFigures(of: process)).memory
        let most = max(await watch.value, after)
        let expected = try await line(
          of: "{ printf %s \"$0\"; head -c \(Self.length)M /dev/zero | tr '\\0' a; } | sha256sum",
          beginning, program)
        #expect(received == expected)
        print("\(path), \(Self.length) MiB: \(before >> 10), at the most \(most >> 10) MiB")
        // Sanitizers keep extra memory for everything that is or was allocated.
        if !TestSeed.isSanitized {
          #expect(most - before < Self.mostGrowth, "\(before) KiB, then \(most) KiB")
        }
        await serve.stop()
      }
    }
  }
#endif
