// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
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

      /// The objects of its lines (`--json`).
      var events: [[String: Any]] { get throws { try lines.map { try JSONObject.read($0) } } }
      /// Its output as one object.
      var object: [String: Any] { get throws { try JSONObject.read(output) } }
      /// Its output as a list of objects.
      var objects: [[String: Any]] {
        get throws {
          let list = try JSONSerialization.jsonObject(with: Data(output.utf8))
          return try #require(list as? [[String: Any]], "\(errors)")
        }
      }
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

    /// The path of a file in the folder.
    func path(_ name: String) -> String {
      directory.appending(path: name).path(percentEncoded: false)
    }

    /// Writes a file in the folder. Returns its path.
    func write(_ text: String, _ name: String) throws -> String {
      try Data(text.utf8).write(to: directory.appending(path: name))
      return path(name)
    }

    /// Runs `body` with a new folder, and removes it.
    static func with(
      isolation: isolated (any Actor)? = #isolation, _ body: (Program) async throws -> Void
    ) async throws {
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

    /// Runs `body` as `with` does, with an origin that serves the tune at `/tune.wav`, fresh for a
    /// day. Bytes in socket buffers count as sent: no more than on a network.
    static func withTune(
      _ body: (Program, OriginServer, _ url: String) async throws -> Void
    ) async throws {
      try await withOrigin(sendBuffer: 64 << 10) { program, origin in
        var tune = Tune.resource
        tune.headers.append(Field("Cache-Control", "max-age=86400"))
        origin.serve(tune, at: "/tune.wav")
        try await body(program, origin, origin.url("/tune.wav").absoluteString)
      }
    }

    /// Runs `body` as `with` does, with an origin that is stopped afterwards.
    static func withOrigin(
      sendBuffer: Int? = nil, _ body: (Program, OriginServer) async throws -> Void
    ) async throws {
      try await OriginServer.with(sendBuffer: sendBuffer) { origin in
        try await with { try await body($0, origin) }
      }
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

  /// A line of JSON.
  enum JSONObject {
    static func read(_ text: some StringProtocol) throws -> [String: Any] {
      try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }
  }
#endif
