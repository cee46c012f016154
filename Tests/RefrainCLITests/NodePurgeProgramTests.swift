// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// `refrain rm --node` from outside.
  @Suite(.timeLimit(.minutes(TestSeed.minutes(2))))
  struct NodePurgeProgramTests {
    private struct Node {
      var serving: Serving
      var admin: String

      func get(_ path: String) async throws -> Reply { try await serving.get(path) }
    }

    private func node(
      _ name: String, _ program: Program, _ origin: OriginServer
    ) async throws -> Node {
      let serving = try await program.serve(
        "--admin", "127.0.0.1:0", "--node-name", name, "--cache", program.path(name),
        "--name", "media.example.org", of: origin)
      return Node(serving: serving, admin: "http://127.0.0.1:\(try await serving.nextPort())")
    }

    private func serve(_ song: [UInt8], _ tag: String, _ origin: OriginServer) {
      origin.serve(
        OriginResource(
          .bytes(song), contentType: "audio/flac", etag: "\"\(tag)\"", headers: [.fresh]),
        at: "/song.flac")
    }

    @Test func `Several nodes are purged at once, and one that is gone is reported`() async throws {
      let songs = [1, 2, 3].map { SyntheticBytes(seed: $0).bytes(in: 0..<5000) }
      try await Program.withSong(songs[0], headers: [.fresh]) { program, origin, url in
        let nodes = [
          try await node("a", program, origin), try await node("b", program, origin),
          try await node("c", program, origin),
        ]
        func check(_ song: [UInt8]) async throws {
          for node in nodes { #expect(try await node.get("/song.flac").body == song) }
        }
        try await check(songs[0])
        serve(songs[1], "two", origin)
        try await check(songs[0])
        let all = nodes.flatMap { ["--node", $0.admin] }
        let first = try await program.run(["rm"] + all + [url])
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.lines.count == 3)
        for (line, name) in zip(first.lines, ["a", "b", "c"]) {
          #expect(line.contains("(\(name)): 1 entry purged"), "\(line)")
        }
        try await check(songs[1])

        serve(songs[2], "three", origin)
        let gone = try #require(FreePort.next())
        let second = try await program.run(
          ["rm", "--json", "--node", "http://127.0.0.1:\(gone)"] + all + [url])
        #expect(second.status == 1)
        #expect(second.errorLines.count == 1)
        #expect(second.errors.contains("1 of 4 nodes did not purge"), "\(second.errors)")
        let outcomes = try second.objects
        #expect(outcomes.map { $0["entries"] as? Int } == [nil, 1, 1, 1])
        #expect(outcomes[0]["error"] is String)
        try await check(songs[2])

        // A listener for clients is no node's.
        let wrong = try await program.run(
          "rm", "--node", "http://127.0.0.1:\(nodes[0].serving.port)", url)
        #expect(wrong.status == 1 && wrong.errors.contains("--admin"), "\(wrong.errors)")
        for arguments in [
          ["rm", "--prefix", url],
          ["rm", "--node", nodes[0].admin], ["rm", "--node", nodes[0].admin, "--all", url],
        ] {
          #expect(try await program.run(arguments).status == 64, "\(arguments)")
        }
      }
    }

    @Test func `Paths, and URLs of the origin, are purged`() async throws {
      let songs = [1, 2, 3, 4, 5].map { SyntheticBytes(seed: $0).bytes(in: 0..<5000) }
      try await Program.withSong(songs[0], headers: [.fresh]) { program, origin, url in
        let node = try await node("a", program, origin)
        #expect(try await node.get("/song.flac").body == songs[0])
        for (song, arguments) in zip(
          songs.dropFirst(),
          [
            ["/song.flac"], ["--prefix", "/"], ["--prefix", "/so"],
            ["\(origin.baseURL.absoluteString)/song.flac"],
          ])
        {
          serve(song, "\(song[0])", origin)
          let run = try await program.run(["rm", "--node", node.admin] + arguments)
          #expect(run.status == 0, "\(arguments): \(run.errors)")
          #expect(run.output.contains("(a): 1 entry purged"), "\(arguments): \(run.output)")
          #expect(try await node.get("/song.flac").body == song, "\(arguments)")
        }
        let other = try await program.run(
          "rm", "--node", node.admin, "https://elsewhere.example/song.flac")
        #expect(other.status == 1)
        #expect(other.errors.contains(origin.baseURL.absoluteString), "\(other.errors)")
        let local = try await program.run("rm", "/song.flac")
        #expect(local.status == 64 && local.errors.contains("--node"), "\(local.errors)")
      }
    }
  }
#endif
