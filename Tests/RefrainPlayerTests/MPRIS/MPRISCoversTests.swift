// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The files of pictures.
  final class MPRISCoversTests: Sendable {
    /// The path of the user's runtime directory.
    private let path: String

    init() throws {
      let parent = FileManager.default.temporaryDirectory
        .appending(path: "refrain-covers-\(UUID().uuidString)", directoryHint: .isDirectory)
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
      path = parent.path(percentEncoded: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    private func contents() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: path)
    }

    @Test func `Pictures stored at the same time share one folder`() async throws {
      let covers = MPRISCovers("sample", environment: ["XDG_RUNTIME_DIR": path])
      var files: Set<URL> = []
      try await withThrowingTaskGroup(of: URL.self) { group in
        for number in 0..<8 {
          group.addTask { try await covers.store(Data([UInt8(number)])) }
        }
        for try await file in group { files.insert(file) }
      }
      #expect(files.count == 8)
      #expect(Set(files.map { $0.deletingLastPathComponent() }).count == 1)
      #expect(try contents().count == 1)
      await covers.remove()
      #expect(try contents().isEmpty)
    }

    @Test func `A picture is a private file until it is removed`() async throws {
      let covers = MPRISCovers("sample/player", environment: ["XDG_RUNTIME_DIR": path])
      #expect(try contents().isEmpty)
      let pictures = [[0xFF, 0xD8, 0xFF, 1], [0x89, 0x50, 0x4E, 0x47], [1, 2]].map { Data($0) }
      var files: [URL] = []
      for picture in pictures { files.append(try await covers.store(picture)) }
      #expect(files.map(\.lastPathComponent) == ["1.jpg", "2.png", "3"])
      #expect(!FileManager.default.fileExists(atPath: files[0].path(percentEncoded: false)))
      #expect(try Data(contentsOf: files[1]) == pictures[1])
      func mode(_ url: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: url.path(percentEncoded: false))[
          .posixPermissions] as? Int
      }
      #expect(try mode(files[2]) == 0o600)
      #expect(try mode(files[2].deletingLastPathComponent()) == 0o700)
      await covers.remove()
      #expect(try contents().isEmpty)
      var released: MPRISCovers? = MPRISCovers("sample", environment: ["XDG_RUNTIME_DIR": path])
      _ = try await released?.store(pictures[0])
      #expect(try contents().count == 1)
      released = nil
      try await eventually("the folder is gone") { try contents().isEmpty }
    }
  }
#endif
