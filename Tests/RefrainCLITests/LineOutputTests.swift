// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The lines of `play` while their reader does not read.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct LineOutputTests {
    /// Together, the events of so many items are more than a pipe holds.
    private static let count = 150

    /// Makes a list of files that do not exist, with long names.
    private func list(_ program: Program) throws -> (path: String, last: String) {
      let names = (1...Self.count).map { "\($0)-\(String(repeating: "x", count: 200)).flac" }
      let list = program.directory.appending(path: "list.m3u")
      try Data(names.joined(separator: "\n").utf8).write(to: list)
      return (list.path(percentEncoded: false), names[Self.count - 1])
    }

    private func fifo(_ program: Program) throws -> String {
      let path = program.directory.appending(path: "fifo").path(percentEncoded: false)
      try #require(mkfifo(path, 0o600) == 0)
      return path
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `An unread standard output stops neither playing nor the program`() async throws {
      try await Program.with { program in
        let (list, last) = try list(program)
        let running = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #"exec "$0" play --json "$1" 1<>"$2""#,
            try Program.executable().path(percentEncoded: false), list, try fifo(program),
          ])
        try await eventually("every item was tried") { running.errors.contains(last) }
        running.send(SIGTERM)
        #expect(await running.end() == 128 + SIGTERM)
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `The queue goes on while nobody reads what was played`() async throws {
      try await Program.with { program in
        func path(_ name: String) -> String {
          program.directory.appending(path: name).path(percentEncoded: false)
        }
        try Tune.wav.write(to: URL(filePath: path("tune.wav")))
        // A pipe that is full from the beginning.
        let line =
          #"exec 1<>"$1"; dd if=/dev/zero of="$1" bs=4096 oflag=nonblock 2>/dev/null; "#
          + #"exec "$0" play --plain --audio-output "$2" "$3" "$4""#
        let running = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", line, try Program.executable().path(percentEncoded: false), try fifo(program),
            path("out.wav"), path("tune.wav"), path("tune.wav"),
          ])
        try await eventually("the second item plays") {
          FileManager.default.fileExists(atPath: path("out-2.wav"))
        }
        running.send(SIGTERM)
        #expect(await running.end() == 128 + SIGTERM)
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `A reader that begins late receives every event`() async throws {
      try await Program.with { program in
        let ((list, last), fifo) = (try list(program), try fifo(program))
        let running = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #""$0" play --json "$1" | { read -r _ <"$2"; cat; }"#,
            try Program.executable().path(percentEncoded: false), list, fifo,
          ])
        try await eventually("every item was tried") { running.errors.contains(last) }
        try Data("\n".utf8).write(to: URL(filePath: fifo))
        var failed = 0
        for await line in running.lines {
          #expect(!line.contains(#""event":"dropped""#))
          if line.contains(#""event":"failed""#) { failed += 1 }
        }
        #expect(failed == Self.count)
      }
    }

    @Test func `Lines beyond the bound are dropped, and counted in their place`() async throws {
      let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let printed = Mutex<[[String]]>([])
      let output = LineOutput(isJSON: true, bound: 2) { lines in
        printed.withLock { $0.append(lines) }
        guard lines == ["a"] else { return }
        begun.signal()
        goOn.wait()
      }
      try output.write("a")
      await IOWaiting.wait(for: begun)
      for line in ["b", "c", "d", "e"] { try output.write(line) }
      goOn.signal()
      try await output.end()
      #expect(
        printed.withLock(\.self) == [["a"], ["b", "c", #"{"count":2,"event":"dropped"}"#]])
    }

    @Test func `Lines that a later one makes superfluous leave room for the others`() async throws {
      let (begun, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let printed = Mutex<[String]>([])
      let output = LineOutput(isJSON: false, bound: 4) { lines in
        printed.withLock { $0 += lines }
        guard lines == ["a"] else { return }
        begun.signal()
        goOn.wait()
      }
      try output.write("a")
      await IOWaiting.wait(for: begun)
      for line in ["1", "2", "3", "4", "5"] { try output.write(line, isRepeated: true) }
      for line in ["b", "c", "d"] { try output.write(line) }
      goOn.signal()
      try await output.end()
      #expect(
        printed.withLock(\.self) == ["a", "1", "2", "b", "c", "… 4 lines are not listed …"])
    }

    @Test func `After a failed line nothing more is written, and the error is reported`()
      async throws
    {
      struct Broken: Error {}
      let prints = Mutex(0)
      let output = LineOutput(isJSON: true) { _ in
        prints.withLock { $0 += 1 }
        throw Broken()
      }
      try output.write("a")
      await #expect(throws: Broken.self) { try await output.end() }
      #expect(throws: Broken.self) { try output.write("b") }
      #expect(prints.withLock(\.self) == 1)
    }
  }

  /// Waiting without blocking a cooperative thread.
  private enum IOWaiting {
    static func wait(for semaphore: DispatchSemaphore) async {
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          semaphore.wait()
          continuation.resume()
        }
      }
    }
  }
#endif
