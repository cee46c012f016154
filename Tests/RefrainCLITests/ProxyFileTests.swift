// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainCLI

  struct ProxyFileTests {
    private func with(_ body: (ProxyFile, _ path: String) async throws -> Void) async throws {
      try await Program.with { program in
        let path = program.cache.appending(path: ProxyFile.name).path(percentEncoded: false)
        try await body(ProxyFile(directory: program.cache), path)
      }
    }

    private func mode(_ path: String) -> mode_t? {
      var status = stat()
      return stat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test func `The proxy record is readable by its owner only`() async throws {
      try await with { file, path in
        #expect(try file.read() == nil)
        let record = try file.readOrCreate()
        #expect(mode(path) == 0o600)
        #expect(mode(file.directory.path(percentEncoded: false)) == 0o700)
        #expect(record.token.utf8.count >= 32)
        #expect(record.port == 8573 && record.address == "127.0.0.1" && record.origin == nil)
      }
    }

    @Test func `A record is read back as it was created or replaced`() async throws {
      try await with { file, path in
        var record = try file.readOrCreate()
        #expect(try file.readOrCreate() == record)
        record.port = 9000
        record.origin = URL(string: "https://example.org/")
        try file.replace(with: record)
        #expect(try file.read() == record)
        #expect(mode(path) == 0o600)
        let left = try FileManager.default.contentsOfDirectory(
          atPath: file.directory.path(percentEncoded: false))
        #expect(left == [ProxyFile.name])
      }
    }

    @Test func `Every new record has a different token`() {
      #expect(Set((0..<100).map { _ in ProxyRecord.new().token }).count == 100)
    }

    @Test func `Concurrent first readers receive the same token`() async throws {
      try await with { file, _ in
        let tokens = await withTaskGroup(of: String?.self) { group in
          for _ in 0..<8 { group.addTask { try? file.readOrCreate().token } }
          return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1 && !tokens.contains(nil))
      }
    }

    @Test(arguments: [0o644, 0o640, 0o620, 0o604, 0o601] as [mode_t])
    func `A record that other users can access is refused`(_ mode: mode_t) async throws {
      try await with { file, path in
        _ = try file.readOrCreate()
        chmod(path, mode)
        let error = try #require(throws: MediaCacheError.self) { try file.read() }
        #expect(error.reason.contains(path) && !error.remedy.isEmpty)
        #expect(throws: MediaCacheError.self) { try file.readOrCreate() }
      }
    }

    @Test(arguments: [
      "", "{}", "[]", "nonsense", #"{"token":"short"}"#,
      #"{"address":"127.0.0.1","allowedHosts":[],"names":[],"port":8573,"token":"short"}"#,
      #"{"address":"127.0.0.1","allowedHosts":[],"names":[],"port":8573,"token":"a/b c?d#e%f&g=h+i"}"#,
      #"{"address":"127.0.0.1","allowedHosts":[],"names":[],"port":0,"token":"0123456789abcdef"}"#,
      #"{"address":"","allowedHosts":[],"names":[],"port":1,"token":"0123456789abcdef"}"#,
    ])
    func `A malformed record is an error that names the file`(_ text: String) async throws {
      try await with { file, path in
        _ = try file.readOrCreate()
        try Data(text.utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
        let error = try #require(throws: MediaCacheError.self) { try file.read() }
        #expect(error.reason.contains(path) && error.remedy.contains("Remove"))
      }
    }

    @Test func `A link or a folder in place of the record is an error`() async throws {
      try await with { file, path in
        _ = try file.readOrCreate()
        rename(path, path + ".other")
        symlink(path + ".other", path)
        #expect(throws: MediaCacheError.self) { try file.read() }
        unlink(path)
        mkdir(path, 0o700)
        #expect(throws: MediaCacheError.self) { try file.read() }
      }
    }
  }
#endif
