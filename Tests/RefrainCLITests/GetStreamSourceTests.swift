// SPDX-License-Identifier: MIT
#if os(Linux)
  import OriginServer
  import TestSupport
  import Testing

  /// `refrain get` with the streams of unusual, careless or hostile origins.
  @Suite(.timeLimit(.minutes(2)))
  struct GetStreamSourceTests {
    private static let stream =
      "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts\n#EXT-X-ENDLIST\n"

    /// The numbers of requests for the segments in a folder.
    private func requests(_ folder: String, _ origin: OriginServer) -> [Int] {
      (0..<2).map { origin.log("\(folder)/\($0).ts").requests.count }
    }

    private func serveSegments(
      _ folder: String = "", requiring header: Field? = nil, on origin: OriginServer
    ) {
      for index in 0..<2 {
        var segment = OriginResource.synthetic(seed: UInt64(index), length: 3000)
        segment.requiredHeader = header
        origin.serve(segment, at: "\(folder)/\(index).ts")
      }
    }

    @Test(arguments: ["/v/main.m3u8", "/v/low.m3u8"])
    func `The requests for segments have the cookies that playlists set`(
      _ source: String
    ) async throws {
      try await Program.withOrigin { program, origin in
        func serve(_ text: String, at path: String) -> String {
          let cookie = Field("Set-Cookie", "pass=1; Path=/v")
          return origin.serve(text: text, at: path, headers: path == source ? [cookie] : [])
        }
        _ = serve(Self.stream, at: "/v/low.m3u8")
        serveSegments("/v", requiring: Field("Cookie", "pass=1"), on: origin)
        let main = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow.m3u8\n"
        let run = try await program.run("get", serve(main, at: "/v/main.m3u8"))
        #expect(run.status == 0, "\(run.errors)")
        #expect(requests("/v", origin) == [1, 1])
      }
    }

    /// A redirect leads elsewhere each time, as to a session.
    @Test(arguments: [[], ["--pin"]])
    func `A stored stream stays at its place when its redirect leads elsewhere`(
      _ options: [String]
    ) async throws {
      try await Program.withOrigin { program, origin in
        for session in ["/one", "/two"] {
          // The same by its validator.
          origin.serve(
            OriginResource(
              .bytes(Array(Self.stream.utf8)), contentType: "application/vnd.apple.mpegurl",
              etag: "\"list\""), at: "\(session)/list.m3u8")
          serveSegments(session, on: origin)
        }
        let url = origin.serve(text: "", at: "/list.m3u8")
        func lead(to session: String) {
          origin.script("/list.m3u8", .on(.all, .redirect(302, to: "\(session)/list.m3u8")))
        }
        lead(to: "/one")
        let first = try await program.run(["get"] + options + [url])
        #expect(first.status == 0, "\(first.errors)")
        lead(to: "/two")
        let stored = try await program.run(["get"] + options + [url])
        #expect(stored.status == 0, "\(stored.errors)")
        #expect(origin.log("/two/0.ts").requests.isEmpty)
        let offline = try await program.run("get", "--offline", url)
        #expect(offline.status == 0, "\(offline.errors)")
      }
    }

    @Test func `A list of 10,000 variants has a row for each, and JSON has all`() async throws {
      let count = 10_000
      try await Program.withOrigin { program, origin in
        let variants = (0..<count).map {
          "#EXT-X-STREAM-INF:BANDWIDTH=\(100_000 + 1000 * $0)\nv\($0).m3u8\n"
        }
        let url = origin.serve(text: "#EXTM3U\n" + variants.joined(), at: "/main.m3u8")
        // Only the best variant exists.
        origin.serve(
          text: "#EXTM3U\n#EXTINF:8,\ns0.ts\n#EXT-X-ENDLIST\n", at: "/v\(count - 1).m3u8")
        let run = try await program.run("get", "--list", url)
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors.prefix(1000))")
        #expect(run.lines.first?.hasSuffix(", 0:08") == true)
        #expect(run.lines.count { $0.contains("bit/s") } == count)
        let report = try await program.run("get", "--list", "--json", url).object
        let objects = try #require(report["variants"] as? [[String: Any]])
        #expect(objects.count == count)
        #expect(objects.last?["bandwidth"] as? Int == 100_000 + 1000 * (count - 1))
      }
    }

    @Test func `A stream that neither type nor URL shows is fetched and removed as one thing`()
      async throws
    {
      try await Program.withOrigin { program, origin in
        let url = origin.serve(
          text: Self.stream, at: "/play", "application/octet-stream", headers: [.fresh])
        serveSegments(on: origin)
        let get = try await program.run("get", url)
        #expect(get.status == 0, "\(get.errors)")
        #expect(get.errorLines.last?.hasPrefix("play: 100% of 0:08") == true)
        #expect(requests("", origin) == [1, 1] && origin.log("/play").requests.count == 1)
        let list = try await program.run("get", "--list", url)
        #expect(list.status == 0 && list.output.contains("0:08"), "\(list.errors)")
        let info = try await program.run("info", url)
        #expect(info.output.contains("2 parts") && info.output.contains("complete"))
        let removed = try await program.run("rm", url)
        #expect(removed.status == 0 && removed.output.contains("2 parts"))
        let rest = try await program.run("ls")
        #expect(rest.output.contains("0 entries"), "\(rest.output)")
      }
    }

    @Test(arguments: [("/play", "application/octet-stream"), ("/songs.m3u8", "audio/mpegurl")])
    func `A list of songs is fetched as the file that it is`(
      _ path: String, _ type: String
    ) async throws {
      try await Program.withOrigin { program, origin in
        let songs = "#EXTM3U\n#EXTINF:4,One\n/0.ts\n#EXTINF:4,Two\n/1.ts\n"
        let url = origin.serve(text: songs, at: path, type, headers: [.fresh])
        serveSegments(on: origin)
        let list = try await program.run("get", "--list", url)
        #expect(list.status == 1 && list.errors.contains("is not the manifest of"))
        #expect(list.errorLines.count == 1)
        let get = try await program.run("get", url)
        #expect(get.status == 0 && get.output == "\(url), \(songs.utf8.count) B\n", "\(get.errors)")
        #expect(requests("", origin) == [0, 0])
      }
    }

    // MARK: Damaged manifests

    private struct Damaged {
      var name: String
      var text: String
      var reason: String

      static let cut = Damaged(
        name: "/cut.mpd",
        text: "<?xml version=\"1.0\"?><MPD><Period><BaseURL>http://a.example/da",
        reason: "it is cut off.")
      static let bomb = Damaged(
        name: "/bomb.mpd",
        text: "<?xml version=\"1.0\"?><!DOCTYPE MPD [<!ENTITY a \"aa\"><!ENTITY b \"&a;&a;\">]>"
          + "<MPD><Period><BaseURL>&b;</BaseURL></Period></MPD>",
        reason: "such as entities")
      static let unterminated = Damaged(
        name: "/unterminated.m3u8",
        text: "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI=\"http://a.example/a",
        reason: "neither variants nor segments")
    }

    @Test func `A damaged manifest is no success, and is not left pinned`() async throws {
      try await Program.withOrigin { program, origin in
        for manifest in [Damaged.cut, .bomb, .unterminated] {
          let url = origin.serve(
            text: manifest.text, at: manifest.name, "application/octet-stream")
          for options in manifest.name == "/cut.mpd" ? [[], ["--list"], ["--pin"]] : [["--pin"]] {
            let run = try await program.run(["get"] + options + [url])
            #expect(run.status == 1 && run.output.isEmpty, "\(options)")
            #expect(run.errors.contains("refrain: \(url) begins as"), "\(run.errors)")
            #expect(run.errors.contains(manifest.reason) && run.errors.contains("'refrain rm'"))
          }
          // What was stored before stays.
          let lifted = try await program.run("get", "--unpin", url)
          let isStored = manifest.name == "/cut.mpd"
          #expect(lifted.output == (isStored ? "\(url) was not pinned.\n" : ""))
          #expect(lifted.status == (isStored ? 0 : 1))
        }
      }
    }

    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `Playing a damaged manifest reports the same reason`() async throws {
      try await Program.withOrigin { program, origin in
        let manifests = [Damaged.cut, .bomb]
        // mpv inspects longer files further.
        let end = String(repeating: "\n", count: 5000)
        let urls = manifests.map {
          origin.serve(text: $0.text + end, at: $0.name, "application/octet-stream")
        }
        let run = try await program.run(["play", "--json"] + urls)
        #expect(run.status == 1)
        for (url, manifest) in zip(urls, manifests) {
          let line = run.errorLines.first { $0.contains("\(url) begins as a DASH manifest") }
          #expect(line?.contains(manifest.reason) == true, "\(run.errors)")
        }
      }
    }
  }
#endif
