// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
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

    private func log(_ url: URL) throws -> (AccessLog, file: AccessLogFile) {
      let file = try AccessLogFile(path: url.path()) { _ in }
      return (AccessLog(file, hasOrigin: true) { _ in }, file)
    }

    /// Returns the numbers of the logged requests.
    private func numbers(_ url: URL) throws -> [Int] {
      try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { line in
        line.split(separator: "\"").dropFirst().first?.split(separator: " ").dropFirst().first
          .flatMap { Int($0.dropFirst()) }
      }
    }

    @Test func `Lines of many threads are whole`() async throws {
      try await withFolder { folder in
        let url = folder.appending(path: "log")
        let (log, _) = try log(url)
        await withTaskGroup(of: Void.self) { group in
          for part in 0..<8 {
            group.addTask { for number in 0..<200 { log.note(request(part * 200 + number)) } }
          }
        }
        await log.end()
        #expect(try numbers(url).sorted() == Array(0..<1600))
      }
    }

    @Test func `A renamed log receives earlier lines, and a new file the later ones`()
      async throws
    {
      try await withFolder { folder in
        let (url, old) = (folder.appending(path: "log"), folder.appending(path: "log.1"))
        let (log, file) = try log(url)
        for number in 0..<100 { log.note(request(number)) }
        try FileManager.default.moveItem(at: url, to: old)
        for number in 100..<200 { log.note(request(number)) }
        await log.end()
        file.reopen()
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
        let file = try AccessLogFile(path: url.path()) { reports.note($0) }
        for line in ["one", "two", "three"] { file.write(line) }
        #expect(reports.all.count == 1)
        #expect(reports.all.first?.contains("No space left on device") == true)
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createSymbolicLink(at: url, withDestinationURL: good)
        file.reopen()
        file.write("four")
        file.write("five")
        #expect(reports.all.count == 2)
        #expect(reports.all.last?.contains("3 lines") == true)
        #expect(try String(contentsOf: good, encoding: .utf8) == "four\nfive\n")
      }
    }

    @Test(arguments: 0...20)
    func `A line torn by a full disk is lost, and no further one`(room: Int) async throws {
      try await withFolder { folder in
        let url = folder.appending(path: "log")
        let left = Mutex(room)
        let reports = Reports()
        let file = try AccessLogFile(path: url.path()) { descriptor, bytes in
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
        for line in ["first", "second", "third"] { file.write(line) }
        left.withLock { $0 = .max }
        for line in ["fourth", "fifth"] { file.write(line) }
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

    @Test func `A named pipe that nobody reads loses lines, and delays nobody`() async throws {
      try await withFolder { folder in
        let pipe = folder.appending(path: "pipe")
        try #require(mkfifo(pipe.path(), 0o600) == 0)
        let reader = open(pipe.path(), O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let reports = Reports()
        let file = try AccessLogFile(path: pipe.path()) { reports.note($0) }
        let log = AccessLog(file, hasOrigin: true) { _ in }
        // A pipe holds 64 KiB.
        for number in 0..<2000 { log.note(request(number)) }
        await log.end()
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var received = bytes[..<max(0, read(reader, &bytes, bytes.count))].count
        received = bytes[..<received].count { $0 == 10 }
        #expect(received > 100)
        log.note(request(2000))
        await log.end()
        #expect(reports.all.last?.contains("\(2000 - received) lines") == true, "\(reports.all)")
      }
    }

    @Test func `A disk that stalls delays no request`() async throws {
      try await withFolder { folder in
        let url = folder.appending(path: "log")
        let mayGoOn = DispatchSemaphore(value: 0)
        let file = try AccessLogFile(path: url.path()) { descriptor, bytes in
          mayGoOn.wait()
          defer { mayGoOn.signal() }
          return write(descriptor, bytes.baseAddress, bytes.count)
        } report: { _ in
        }
        let log = AccessLog(file, hasOrigin: true) { _ in }
        for number in 0..<3 { log.note(request(number)) }
        #expect(try numbers(url) == [])
        mayGoOn.signal()
        await log.end()
        #expect(try numbers(url) == [0, 1, 2])
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

    @Test func `serve logs requests, and opens its log again at SIGHUP`() async throws {
      try await Program.withSong([1, 2, 3]) { program, origin, url in
        let log = program.directory.appending(path: "access.log")
        let old = program.directory.appending(path: "access.log.1")
        let serve = try await program.serve("--access-log", log.path(), of: origin)
        for (index, name) in ["one", "t\"wo"].enumerated() {
          _ = try await serve.get("/song.flac", ["User-Agent: \(name)"])
          // A client has its response before it is logged.
          try await eventually("it is logged") { lines(log).count == index + 1 }
        }
        #expect(lines(log)[0].hasSuffix(#""GET /song.flac HTTP/1.1" 200 3 "-" "one""#))
        try FileManager.default.moveItem(at: log, to: old)
        serve.running.send(SIGHUP)
        try await eventually("it is open again") {
          FileManager.default.fileExists(atPath: log.path())
        }
        _ = try await serve.get("/song.flac")
        await serve.stop()
        #expect(lines(log).count == 1 && lines(old).count == 2)
      }
    }

    @Test func `The log on standard output takes the place of its lines`() async throws {
      try await Program.withSong([1, 2, 3]) { program, origin, _ in
        let serve = try await program.serving(
          RunningProgram(
            program,
            [
              "serve", "--port", "0", "--access-log", "-", "--origin",
              origin.baseURL.absoluteString,
            ]))
        for name in ["one", "two"] {
          _ = try await serve.get("/song.flac", ["User-Agent: \(name)"])
          let line = try await serve.running.nextLine()
          #expect(line.hasPrefix("127.0.0.1 - - ["))
          #expect(line.hasSuffix(#""GET /song.flac HTTP/1.1" 200 3 "-" "\#(name)""#))
        }
        await serve.stop()
        let both = try await program.run("serve", "--port", "0", "--access-log", "-", "--json")
        #expect(both.status == 64 && both.errors.contains("--json"), "\(both.errors)")
      }
    }

    @Test func `Without an access log, SIGHUP ends the program`() async throws {
      try await Program.with { program in
        let serve = try await program.serve()
        serve.running.send(SIGHUP)
        #expect(await serve.running.end() == -SIGHUP)
      }
    }

    @Test func `Without an access log, SIGHUP stays ignored as by nohup`() async throws {
      try await Program.with { program in
        let serve = try RunningProgram(
          program, path: "/bin/sh",
          [
            "-c", #"trap '' HUP; exec "$@""#,
            "sh", Program.executable().path(), "serve", "--port", "0", "--quiet",
          ])
        _ = try await serve.nextLine()
        serve.send(SIGHUP)
        serve.send(SIGTERM)
        #expect(await serve.end() == 128 + SIGTERM)
      }
    }
  }
#endif
