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
    /// Runs `body` with a directory of the package as it is published: a repository with a version.
    private func withPublished(_ body: (URL) async throws -> Void) async throws {
      try await withDirectory { directory in
        let library = directory.appending(path: "refrain", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: library, withIntermediateDirectories: true)
        for name in ["Package.swift", "Sources", "Tests"] {
          try FileManager.default.copyItem(
            at: Self.root.appending(path: name), to: library.appending(path: name))
        }
        let author = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
        for arguments in [["init", "--quiet"], ["add", "."]]
          + [author + ["commit", "--quiet", "-m", "All"], ["tag", "1.0.0"]]
        {
          try await run(.git, arguments, in: library)
        }
        try await body(library)
      }
    }

    /// Returns the names of the packages that the library brings to a package that uses it.
    private func dependencies(of library: URL, traits: String) async throws -> [String] {
      try await withDirectory { consumer in
        let sources = consumer.appending(path: "Sources/App", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
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
          .swift, ["package", "show-dependencies", "--format", "json"], in: consumer,
          limit: .seconds(240))
        let tree = try JSONDecoder().decode(
          Dependency.self, from: Data(text.drop { $0 != "{" }.utf8))
        let own = try #require(tree.dependencies.first)
        #expect(own.identity == "refrain" && tree.dependencies.count == 1)
        return own.dependencies.map(\.identity).sorted()
      }
    }

    private struct Dependency: Decodable {
      var identity: String
      var dependencies: [Dependency]
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `An app that uses the library resolves no package but those of its traits`()
      async throws
    {
      try await withPublished { library in
        #expect(try await dependencies(of: library, traits: "") == [])
        let server = try await dependencies(of: library, traits: ", traits: [\"Server\"]")
        #expect(server == ["swift-nio"])
      }
    }
  }
#endif
