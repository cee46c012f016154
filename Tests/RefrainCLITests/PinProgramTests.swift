// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// `get --pin` and `get --unpin`, and how other commands show and treat pinned resources.
  @Suite(.timeLimit(.minutes(2)))
  struct PinProgramTests {
    private static let length = 2_000_000

    /// Runs `body` with an origin that serves songs of these names.
    private func withSongs(
      _ names: [String], _ body: (Program, OriginServer, _ urls: [String]) async throws -> Void
    ) async throws {
      let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<Int64(Self.length))
      try await Program.withOrigin { program, origin in
        for name in names {
          origin.serve(
            OriginResource(.bytes(bytes), contentType: "audio/flac", etag: "\"one\""),
            at: "/\(name).flac")
        }
        try await body(program, origin, names.map { origin.url("/\($0).flac").absoluteString })
      }
    }

    private struct Listed: Decodable {
      var url: String
      var isPinned: Bool
      var isComplete: Bool
    }

    private func listed(_ program: Program) async throws -> [Listed] {
      let output = try await program.run("ls", "--json").output
      return try JSONDecoder().decode([Listed].self, from: Data(output.utf8))
    }

    @Test func `A pinned resource is shown as pinned until the pin is lifted`() async throws {
      try await withSongs(["a", "b"]) { program, origin, urls in
        #expect(try await program.run("get", "--pin", urls[0]).status == 0)
        #expect(try await program.run("get", urls[1]).status == 0)
        let list = try await program.run("ls")
        #expect(list.lines.first?.contains("  PINNED  ") == true)
        #expect(list.lines.filter { $0.contains("  yes  ") }.map { $0.contains(urls[0]) } == [true])
        #expect(list.lines.last?.hasPrefix("2 entries, ") == true)
        #expect(list.lines.last?.hasSuffix(" of 10.0 GiB, 1.9 MiB pinned") == true)
        let entries = try await listed(program)
        #expect(entries.filter(\.isPinned).map(\.url) == [urls[0]])
        #expect(entries.count == 2 && entries.allSatisfy(\.isComplete))
        let info = try await program.run("info", urls[0])
        #expect(info.lines.contains { $0.hasPrefix("on disk") && $0.hasSuffix(", pinned") })
        #expect(try await !program.run("info", urls[1]).output.contains("pinned"))

        let lifted = try await program.run("get", "--unpin", urls[0], urls[1])
        #expect(lifted.status == 0)
        #expect(
          lifted.output == "\(urls[0]) is no longer pinned.\n\(urls[1]) was not pinned.\n")
        #expect(try await listed(program).allSatisfy { !$0.isPinned && $0.isComplete })
        #expect(try await !program.run("ls").output.lowercased().contains("pinned"))

        // It is removed like any other, and then there is no pin to lift.
        #expect(try await program.run("get", "--pin", urls[0]).status == 0)
        #expect(try await program.run("rm", urls[0]).status == 0)
        #expect(try await listed(program).map(\.url) == [urls[1]])
        let requests = origin.log("/a.flac").requests.count
        let missing = try await program.run("get", "--unpin", urls[0])
        #expect(missing.status == 1)
        #expect(missing.errors.contains("Nothing is stored for \(urls[0])."))
        #expect(origin.log("/a.flac").requests.count == requests)
        #expect(try await program.run("get", urls[0]).status == 0)
        #expect(try await listed(program).allSatisfy { !$0.isPinned })
      }
    }

    @Test func `Room is made with other resources than pinned ones`() async throws {
      try await withSongs(["a", "b", "c", "d"]) { program, origin, urls in
        #expect(try await program.run("get", "--pin", "--limit", "5M", urls[0]).status == 0)
        for url in urls.dropFirst() {
          #expect(try await program.run("get", "--limit", "5M", url).status == 0)
        }
        let entries = try await listed(program)
        #expect(entries.first { $0.url == urls[0] }?.isComplete == true)
        #expect(entries.first { $0.url == urls[1] }?.isComplete != true)
        #expect(origin.log("/a.flac").bytesSentTwice == 0)
      }
    }

    @Test func `A resource that does not fit is refused before it is fetched`() async throws {
      try await withSongs(["a", "b"]) { program, origin, urls in
        #expect(try await program.run("get", "--pin", "--limit", "3M", urls[0]).status == 0)
        let run = try await program.run("get", "--pin", "--limit", "3M", "--json", urls[1])
        #expect(run.status == 1)
        #expect(run.errors.contains("\(urls[1]) cannot be pinned: it takes 1961 KiB"))
        #expect(run.errors.contains("Raise the limit, or unpin or remove other entries."))
        #expect(run.lines.last?.contains("\"event\":\"failed\"") == true)
        #expect(try await listed(program).filter(\.isPinned).map(\.url) == [urls[0]])
        #expect(origin.log("/b.flac").requests.count <= 1)
      }
    }

    @Test(arguments: [
      (["--pin", "--unpin"], "Use either --pin or --unpin."),
      (["--unpin", "--output", "x"], "--unpin fetches nothing."),
    ])
    func `Contradictory options are refused`(_ options: [String], _ reason: String) async throws {
      try await Program.with { program in
        let run = try await program.run(["get"] + options + ["http://h/a"])
        #expect(run.status == 64)
        #expect(run.errors.contains(reason))
      }
    }
  }
#endif
