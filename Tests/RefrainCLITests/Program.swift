// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// The program itself, as it was built beside the tests.
  struct Program {
    /// The result of a run.
    struct Run {
      var status: CInt
      var output: String
      var errors: String

      var lines: [Substring] { output.split(separator: "\n") }
      var errorLines: [Substring] { errors.split(separator: "\n") }
    }

    let directory: URL

    var cache: URL { directory.appending(path: "cache", directoryHint: .isDirectory) }

    /// The size of the largest file in the cache, in bytes: how far a medium is written.
    var largestFileSize: Int { fileSizes.max() ?? 0 }

    /// The lengths of all files in the cache directory.
    var fileSizes: [Int] {
      let files = FileManager.default.enumerator(
        at: cache, includingPropertiesForKeys: [.fileSizeKey])
      return files?.compactMap { file in
        (file as? URL).flatMap { try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize }
      } ?? []
    }

    /// Runs `body` with a new folder, and removes it.
    static func with(_ body: (Program) async throws -> Void) async throws {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-cli-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      try await body(Program(directory: directory))
    }

    /// Runs `body` as `with` does, with an origin that serves one song.
    static func withSong(
      _ bytes: [UInt8], headers: [Field] = [],
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await withOrigin { program, origin in
        origin.serve(
          OriginResource(
            .bytes(bytes), contentType: "audio/flac", etag: "\"one\"", headers: headers),
          at: "/song.flac")
        try await body(program, origin, origin.url("/song.flac").absoluteString)
      }
    }

    /// Runs `body` as `with` does, with an origin that is stopped afterwards.
    static func withOrigin(
      _ body: (Program, OriginServer) async throws -> Void
    ) async throws {
      let origin = try await OriginServer.start()
      do {
        try await with { try await body($0, origin) }
      } catch {
        await origin.stop()
        throw error
      }
      await origin.stop()
    }

    /// Runs the program to its end.
    ///
    /// - Parameters:
    ///   - input: its standard input.
    ///   - signal: sent once `isDue` returns true.
    func run(
      _ arguments: String..., input: String = "", signal: CInt? = nil,
      when isDue: () -> Bool = { true }
    ) async throws -> Run {
      try await run(arguments, input: input, signal: signal, when: isDue)
    }

    /// Runs the program to its end.
    ///
    /// - Parameter variables: added to its usual environment.
    func run(
      _ arguments: [String], adding variables: [String: String] = [:], input: String = "",
      signal: CInt? = nil, when isDue: () -> Bool = { true }
    ) async throws -> Run {
      let process = Process()
      process.executableURL = try Self.executable()
      process.arguments = arguments
      process.environment = environment.merging(variables) { $1 }
      let output = try file("output")
      let errors = try file("errors")
      process.standardInput = try self.input(input)
      process.standardOutput = output.handle
      process.standardError = errors.handle
      let (ends, ended) = AsyncStream<Void>.makeStream()
      process.terminationHandler = { _ in ended.finish() }
      try process.run()
      if let signal {
        while process.isRunning, !isDue() { try await Task.sleep(for: .milliseconds(10)) }
        kill(process.processIdentifier, signal)
      }
      for await _ in ends {}
      return Run(
        status: process.terminationStatus,
        output: try String(contentsOf: output.url, encoding: .utf8),
        errors: try String(contentsOf: errors.url, encoding: .utf8))
    }

    /// Its environment: nothing of the user who tests.
    var environment: [String: String] {
      var environment = [
        "REFRAIN_CACHE": cache.path(percentEncoded: false),
        "HOME": directory.path(percentEncoded: false), "PATH": "/usr/bin:/bin",
        "TMPDIR": directory.path(percentEncoded: false),
      ]
      // A sanitized program needs the options and the libraries of its tests.
      for name in ["ASAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH"] {
        environment[name] = ProcessInfo.processInfo.environment[name]
      }
      return environment
    }

    private func input(_ text: String) throws -> FileHandle {
      let url = directory.appending(path: "input-\(UUID().uuidString)")
      try Data(text.utf8).write(to: url)
      return try FileHandle(forReadingFrom: url)
    }

    private func file(_ name: String) throws -> (url: URL, handle: FileHandle) {
      let url = directory.appending(path: "\(name)-\(UUID().uuidString)")
      try Data().write(to: url)
      return (url, try FileHandle(forWritingTo: url))
    }

    /// - Parameter name: that of a program built beside the tests.
    static func executable(_ name: String = "refrain") throws -> URL {
      let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      let program = URL(filePath: tests).deletingLastPathComponent().appending(path: name)
      try #require(FileManager.default.isExecutableFile(atPath: program.path()))
      return program
    }
  }
#endif
