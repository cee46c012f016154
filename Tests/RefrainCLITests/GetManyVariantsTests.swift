// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Testing

  /// `refrain get --list` with as many variants as a hostile or careless origin may list.
  @Suite(.timeLimit(.minutes(2)))
  struct GetManyVariantsTests {
    private static let count = 10_000

    private static func serve(_ text: String, at path: String, _ origin: OriginServer) {
      origin.serve(
        OriginResource(
          .bytes(Array(text.utf8)), contentType: "application/vnd.apple.mpegurl",
          etag: "\"\(path)\""), at: path)
    }

    /// Runs the program with the options, and with the URL of a list of which only the best variant
    /// exists.
    private func list(_ options: String...) async throws -> Program.Run {
      let origin = try await OriginServer.start()
      let variants = (0..<Self.count).map {
        "#EXT-X-STREAM-INF:BANDWIDTH=\(100_000 + 1000 * $0)\nv\($0).m3u8\n"
      }
      Self.serve("#EXTM3U\n" + variants.joined(), at: "/main.m3u8", origin)
      Self.serve(
        "#EXTM3U\n#EXTINF:8,\ns0.ts\n#EXT-X-ENDLIST\n", at: "/v\(Self.count - 1).m3u8", origin)
      let url = origin.url("/main.m3u8").absoluteString
      let result: Result<Program.Run, any Error>
      do {
        var run: Program.Run?
        try await Program.with { run = try await $0.run(["get", "--list"] + options + [url]) }
        result = .success(try #require(run))
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      return try result.get()
    }

    @Test func `A list of 10,000 variants has a row for each`() async throws {
      let run = try await list()
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors.prefix(1000))")
      #expect(run.lines.first?.hasSuffix(", 0:08") == true)
      #expect(run.lines.count { $0.contains("bit/s") } == Self.count)
    }

    @Test func `JSON has all of 10,000 variants`() async throws {
      let run = try await list("--json")
      #expect(run.status == 0, "\(run.errors.prefix(1000))")
      let report = try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
      let variants = try #require(report?["variants"] as? [[String: Any]])
      #expect(variants.count == Self.count)
      #expect(variants.last?["bandwidth"] as? Int == 100_000 + 1000 * (Self.count - 1))
    }
  }
#endif
