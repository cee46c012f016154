// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Testing

  @testable import RefrainCLI

  /// The file of a control socket.
  struct ControlSocketTests {
    private func withFolder(_ body: (_ path: String) throws -> Void) throws {
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "rs-\(UUID().uuidString.prefix(8))", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      try body(folder.appending(path: "socket").path(percentEncoded: false))
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private func refusal(_ path: String) -> String {
      do {
        try ControlSocket(at: path).remove()
        return "none"
      } catch {
        return "\(error)"
      }
    }

    @Test func `Only the owner can connect, and the file is removed at the end`() throws {
      try withFolder { path in
        let socket = try ControlSocket(at: path)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode == S_IFSOCK | 0o600)
        socket.remove()
        #expect(!exists(path))
      }
    }

    @Test func `The socket of a living program is refused, that of an ended one replaced`() throws {
      try withFolder { path in
        let first = try ControlSocket(at: path)
        #expect(refusal(path).contains("is in use by another program. End that one, or name"))
        #expect(exists(path))
        // As when a program is killed.
        close(first.file)
        let second = try ControlSocket(at: path)
        _ = try ControlConnection(path)
        second.remove()
        #expect(!exists(path))
      }
    }

    @Test func `The file of a later socket is not removed`() throws {
      try withFolder { path in
        let first = try ControlSocket(at: path)
        try FileManager.default.removeItem(atPath: path)
        let second = try ControlSocket(at: path)
        first.remove()
        #expect(exists(path))
        second.remove()
      }
    }

    @Test func `Other files stay, and unusable paths are refused with a remedy`() throws {
      try withFolder { path in
        try Data("mine".utf8).write(to: URL(filePath: path))
        #expect(refusal(path).contains("exists, and is no socket. Remove it"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        #expect(refusal("\(path)/below").contains("Not a directory. Name another path"))
        #expect(refusal("\(path)-none/below").contains("Create its folder"))
        #expect(refusal("").contains("is empty"))
        let long = path + String(repeating: "x", count: 108 - path.utf8.count)
        #expect(refusal(long).contains("has 108 bytes, and sockets have at most 107"))
        #expect(refusal(String(long.dropLast())) == "none")
      }
    }
  }
#endif
