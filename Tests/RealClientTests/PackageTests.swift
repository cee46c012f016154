// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  /// The dependencies that this package brings to a package that uses it.
  @Suite(
    .enabled(if: RequiredProgram.swift.isUsable && RequiredProgram.git.isUsable),
    .timeLimit(.minutes(5)))
  struct PackageTests {
    /// Returns the names of the packages that the one under test brings in.
    private func dependencies(traits: String) async throws -> [String] {
      let directory = FileManager.default.temporaryDirectory
        .appending(path: "refrain-consumer-\(UUID().uuidString)", directoryHint: .isDirectory)
      defer { try? FileManager.default.removeItem(at: directory) }
      let library = directory.appending(path: "refrain", directoryHint: .isDirectory)
      let consumer = directory.appending(path: "consumer", directoryHint: .isDirectory)
      let sources = consumer.appending(path: "Sources/App", directoryHint: .isDirectory)
      for folder in [library, sources] {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      }
      // As published: a repository with a version.
      for name in ["Package.swift", "Sources", "Tests"] {
        try FileManager.default.copyItem(
          at: Self.root.appending(path: name), to: library.appending(path: name))
      }
      let author = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
      for arguments in [["init", "--quiet"], ["add", "."]]
        + [author + ["commit", "--quiet", "-m", "All"], ["tag", "1.0.0"]]
      {
        _ = try await run(.git, arguments, in: library)
      }
      let manifest = """
        // swift-tools-version: 6.3
        import PackageDescription
        let package = Package(
          name: "Consumer",
          dependencies: [.package(url: "\(library.absoluteString)", from: "1.0.0"\(traits))],
          targets: [
            .executableTarget(
              name: "App", dependencies: [.product(name: "RefrainCore", package: "refrain")])
          ])
        """
      try Data(manifest.utf8).write(to: consumer.appending(path: "Package.swift"))
      try Data("import Refrain\n".utf8).write(to: sources.appending(path: "main.swift"))
      let text = try await run(
        .swift, ["package", "show-dependencies", "--format", "json"], in: consumer)
      let tree = try JSONDecoder().decode(
        Dependency.self, from: Data(text.drop { $0 != "{" }.utf8))
      let own = try #require(tree.dependencies.first)
      #expect(own.identity == "refrain" && tree.dependencies.count == 1)
      return own.dependencies.map(\.identity).sorted()
    }

    private struct Dependency: Decodable {
      var identity: String
      var dependencies: [Dependency]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()

    private func run(
      _ program: RequiredProgram, _ arguments: [String], in directory: URL
    ) async throws -> String {
      let output = directory.deletingLastPathComponent().appending(path: UUID().uuidString)
      let process = try LeashedProcess(program.path, arguments, in: directory, output: output)
      let status = try await process.exitStatus(within: .seconds(240))
      let text = try String(contentsOf: output, encoding: .utf8)
      try #require(status == 0, "\(program.name) \(arguments): \(text)")
      return text
    }

    @Test func `An app that uses the library resolves no other package`() async throws {
      #expect(try await dependencies(traits: "") == [])
    }

    @Test func `The Server trait adds SwiftNIO and no other package`() async throws {
      #expect(try await dependencies(traits: ", traits: [\"Server\"]") == ["swift-nio"])
    }
  }
#endif
