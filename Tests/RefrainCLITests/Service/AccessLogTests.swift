// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import RefrainProxy
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// The access log's file: rotation, and disks that are full.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct AccessLogTests {
    private final class Reports: Sendable {
      private let texts = Mutex<[String]>([])
      var all: [String] { texts.withLock { $0 } }
      func note(_ text: String) { texts.withLock { $0.append(text) } }
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "refrain-log-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      try await body(folder)
    }

    private func request(_ number: Int) -> ServedRequest {
      ServedRequest(
        method: "GET", url: "https://example.org/\(number)", status: 200, range: nil, bytesSent: 1,
        source: .hit, seconds: 0, client: "192.0.2.1", error: nil)
    }

    private func log(
      _ url: URL, bound: Int = 8 << 20, _ report: @escaping @Sendable (String) -> Void = { _ in }
    ) throws -> AccessLog {
      let file = try AccessLogFile(path: url.path(), report: report)
      return AccessLog(file, format: .combined, hasOrigin: true, bound: bound)
    }

    /// Returns the numbers of the logged requests.
    private func numbers(_ url: URL) throws -> [Int] {
      try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { line in
        line.split(separator: "\"").dropFirst().first?.split(separator: " ").dropFirst().first
          .flatMap { Int($0.dropFirst()) }
      }
    }

    @Test func `Lines are appended in order, and all are written at the end`() async throws {
      try await withFolder { folder in
        let url = folder.appending(path: "log")
        for part in [0..<500, 500..<700] {
          let log = try log(url)
          for number in part { log.note(request(number)) }
          await log.end()
        }
        #expect(try numbers(url) == Array(0..<700))
      }
    }

    @Test func `A renamed log receives earlier lines, and a new file the later ones`()
      async throws
    {
      try await withFolder { folder in
        let (url, old) = (folder.appending(path: "log"), folder.appending(path: "log.1"))
        let log = try log(url)
        for number in 0..<100 { log.note(request(number)) }
        try FileManager.default.moveItem(at: url, to: old)
        for number in 100..<200 { log.note(request(number)) }
        log.reopen()
        try await eventually("it is open again") {
          FileManager.default.fileExists(atPath: url.path())
        }
        for number in 200..<300 { log.note(request(number)) }
        await log.end()
        #expect(try numbers(old) == Array(0..<200))
        #expect(try numbers(url) == Array(200..<300))
      }
    }

    @Test func `A full disk loses lines, counts them and goes on`() async throws {
      try await withFolder { folder in
        let (url, good) = (folder.appending(path: "log"), folder.appending(path: "good"))
        // Each write there fails with ENOSPC (full(4)).
        try FileManager.default.createSymbolicLink(
          at: url, withDestinationURL: URL(filePath: "/dev/full"))
        let reports = Reports()
        var file = try AccessLogFile(path: url.path()) { reports.note($0) }
        file.write("one\ntwo\n")
        file.write("three\n", lostBefore: 4)
        #expect(reports.all.count == 1)
        #expect(reports.all.first?.contains("No space left on device") == true)
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: good)
        file.reopen()
        file.write("four\n")
        file.write("five\n")
        file.close()
        #expect(reports.all.count == 2)
        #expect(reports.all.last?.contains("7 lines") == true)
        #expect(try String(contentsOf: good, encoding: .utf8) == "four\nfive\n")
      }
    }

    @Test(arguments: 0...20)
    func `A line torn by a full disk is lost, and no further one`(room: Int) async throws {
      try await withFolder { folder in
        let url = folder.appending(path: "log")
        let left = Mutex(room)
        let reports = Reports()
        var file = try AccessLogFile(path: url.path()) { descriptor, bytes in
          let count = left.withLock { left in
            let count = min(left, bytes.count)
            left -= count
            return count
          }
          if count == 0 {
            errno = ENOSPC
            return -1
          }
          return write(descriptor, bytes.baseAddress, count)
        } report: {
          reports.note($0)
        }
        file.write("first\nsecond\nthird\n")
        left.withLock { $0 = .max }
        file.write("fourth\n")
        file.write("fifth\n")
        file.close()
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
        let whole = lines.filter { ["first", "second", "third"].contains($0) }
        #expect(lines.suffix(2) == ["fourth", "fifth"])
        // A last line without its line feed may be whole, but was counted.
        let lost = 3 - (room >= 19 ? 3 : room >= 13 ? 2 : room >= 6 ? 1 : 0)
        #expect(whole.count - (3 - lost) <= 1 && whole.count >= 3 - lost)
        #expect(
          lost == 0 ? reports.all.isEmpty : reports.all.last?.contains("\(lost) lines") == true)
      }
    }

    @Test func `Requests beyond the buffer are dropped and counted`() async throws {
      try await withFolder { folder in
        let pipe = folder.appending(path: "pipe")
        try #require(mkfifo(pipe.path(), 0o600) == 0)
        // Open for both: nobody waits for the other end to be opened.
        let reader = open(pipe.path(), O_RDWR | O_NONBLOCK)
        defer { close(reader) }
        let reports = Reports()
        let log = try log(pipe, bound: 100_000) { reports.note($0) }
        // A pipe holds 64 KiB, and the buffer fewer than 400 requests.
        for number in 0..<20_000 { log.note(request(number)) }
        let isOver = Mutex(false)
        let received = Mutex(0)
        let thread = Thread {
          var bytes = [UInt8](repeating: 0, count: 65_536)
          while true {
            let isLast = isOver.withLock { $0 }
            let count = read(reader, &bytes, bytes.count)
            if count > 0 { received.withLock { $0 += bytes[..<count].count { $0 == 10 } } }
            if count <= 0, isLast { return isOver.withLock { $0 = false } }
            if count <= 0 { usleep(1000) }
          }
        }
        thread.start()
        await log.end(patience: .seconds(60))
        isOver.withLock { $0 = true }
        try await eventually("all is read") { !isOver.withLock { $0 } }
        let lost = reports.all.compactMap { text in
          text.split(separator: " ").first.flatMap { Int($0) }
        }
        #expect(lost.reduce(0, +) + received.withLock { $0 } == 20_000)
        #expect(lost.reduce(0, +) > 10_000)
      }
    }

    @Test func `A log in a folder that does not exist is an error with a remedy`() throws {
      let failure = #expect(throws: ProgramError.self) {
        try AccessLogFile(path: "/nowhere/at/all/log") { _ in }
      }
      #expect(failure?.description.contains("--access-log") == true)
    }
  }

  /// `refrain serve --access-log` from outside.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct AccessLogProgramTests {
    private func lines(_ url: URL) -> [Substring] {
      // Before the first line there is no file.
      ((try? String(contentsOf: url, encoding: .utf8)) ?? "").split(separator: "\n")
    }

    @Test func `serve logs requests, and opens its log again at SIGUSR1`() async throws {
      try await Program.withSong([1, 2, 3]) { program, origin, url in
        let log = program.directory.appending(path: "access.log")
        let old = program.directory.appending(path: "access.log.1")
        let serve = try RunningProgram(
          program,
          [
            "serve", "--port", "0", "--quiet", "--access-log", log.path(), "--origin",
            origin.baseURL.absoluteString,
          ])
        let port = try #require(URL(string: try await serve.nextLine())?.port)
        for (index, name) in ["one", "t\"wo"].enumerated() {
          _ = try await RawConnection.open(port: port) {
            try await $0.reply(
              to: "/song.flac", ["User-Agent: \(name)"], host: "127.0.0.1:\(port)")
          }
          // A client has its response before it is logged.
          try await eventually("it is logged") { lines(log).count == index + 1 }
        }
        #expect(lines(log)[0].hasSuffix(#""GET /song.flac HTTP/1.1" 200 3 "-" "one""#))
        try FileManager.default.moveItem(at: log, to: old)
        serve.send(SIGUSR1)
        try await eventually("it is open again") {
          FileManager.default.fileExists(atPath: log.path())
        }
        _ = try await RawConnection.open(port: port) {
          try await $0.reply(to: "/song.flac", host: "127.0.0.1:\(port)")
        }
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
        #expect(lines(log).count == 1 && lines(old).count == 2)
        #expect(serve.errors.isEmpty)
      }
    }

    @Test func `Without an access log SIGUSR1 does not end serve`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(program, ["serve", "--port", "0", "--quiet"])
        let port = try #require(URL(string: try await serve.nextLine())?.port)
        serve.send(SIGUSR1)
        _ = try await RawConnection.open(port: port) { try await $0.reply(to: "/x") }
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
      }
    }
  }
#endif
