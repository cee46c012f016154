// SPDX-License-Identifier: MIT
#if os(Linux)
  package import Foundation

  /// A bus of its own, as that of a session.
  package struct TestBus {
    package let address: String
    package let directory: URL
    package let daemon: LeashedProcess

    /// Whether this machine has what a bus and its clients need.
    package static let isUsable =
      RequiredLibrary.libsystemd.isUsable && RequiredProgram.dbusDaemon.isUsable

    /// Runs `body` with a new bus, which ends afterwards.
    package static func with(
      isolation: isolated (any Actor)? = #isolation, _ body: (TestBus) async throws -> Void
    ) async throws {
      // Short: the path of a socket has at most 107 bytes.
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "bus-\(UUID().uuidString.prefix(8))", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: directory) }
      let output = directory.appending(path: "address")
      let daemon = try LeashedProcess(
        RequiredProgram.dbusDaemon.path,
        [
          "--session", "--nofork", "--nopidfile", "--print-address=1",
          "--address=unix:path=\(directory.path(percentEncoded: false))bus",
        ], in: directory, output: output)
      var address = ""
      // Printed once it listens; messages may come before.
      try await eventually("the bus listens") {
        let text = try String(contentsOf: output, encoding: .utf8)
        let line = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
          .first { $0.hasPrefix("unix:") }
        address = line.map(String.init) ?? ""
        return line != nil
      }
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await body(TestBus(address: address, directory: directory, daemon: daemon)))
      } catch {
        result = .failure(error)
      }
      await daemon.kill()
      try result.get()
    }

    /// Runs a program with this bus, and returns what it prints.
    package func run(
      _ program: RequiredProgram, arguments: [String]
    ) async throws -> (status: CInt?, text: String) {
      let output = directory.appending(path: UUID().uuidString)
      let process = try LeashedProcess(
        program.path, arguments, in: directory, output: output,
        environment: ["DBUS_SESSION_BUS_ADDRESS": address])
      let status = try await process.exitStatus(within: .seconds(30))
      let text = try String(contentsOf: output, encoding: .utf8)
      return (status, text.trimmingCharacters(in: .newlines))
    }
  }
#endif
