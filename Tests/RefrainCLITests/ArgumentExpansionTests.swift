// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import RefrainPlayer
  import TestSupport
  import Testing

  @testable import RefrainCLI

  /// What the arguments of `play` name: lists within lists, and lists that only their content
  /// shows.
  @Suite(.timeLimit(.minutes(1))) struct ArgumentExpansionTests {
    private static let secret: HeaderFields = ["Authorization": "Bearer abc"]

    private func names(_ expansion: ArgumentExpansion) -> [String] {
      expansion.media.map(\.url.lastPathComponent)
    }

    private func authorizations(_ server: OriginServer, _ path: String) -> Set<String?> {
      Set(server.log(path).requests.map { $0.request.headers.first("Authorization") })
    }

    @Test func `A list of songs on the network is read also where it has a stream's name`()
      async throws
    {
      try await CacheAndOrigin.with { place in
        let songs = place.serve("#EXTM3U\none.mp3\nmore/two.m3u8\n", "/songs.m3u8")
        _ = place.serve("two.mp3\n", "/more/two.m3u8", "audio/mpegurl")
        let lost = place.origin.url("/lost.m3u8")
        let list = try place.write("\(songs.absoluteString)\n\(lost.absoluteString)\n", "list.m3u")
        let expansion = try await place.expand(list)
        // The origin of a stream may be back when its turn comes.
        #expect(names(expansion) == ["one.mp3", "two.mp3", "lost.m3u8"])
        #expect(expansion.skipped.isEmpty && expansion.failure == nil)
      }
    }

    @Test func `Of many streams, none is requested before its turn`() async throws {
      try await CacheAndOrigin.with { place in
        let channels = (0..<40).map { place.origin.url("/\($0).m3u8").absoluteString }
        let list = try place.write(channels.joined(separator: "\n"), "channels.m3u")
        let expansion = try await place.expand(list)
        #expect(expansion.media.count == 40)
        #expect((0..<40).allSatisfy { place.origin.log("/\($0).m3u8").requests.isEmpty })
      }
    }

    @Test func `A pipe with a list's name is an error, and is not waited for`() async throws {
      try await CacheAndOrigin.with { place in
        let pipe = place.folder.appending(path: "pipe.m3u")
        try #require(mkfifo(pipe.path(percentEncoded: false), 0o600) == 0)
        let failure = try await place.expand(pipe).failure
        #expect(failure?.code == .badURL && failure?.reason.contains("ordinary file") == true)
      }
    }

    @Test func `Lists and folders in lists are read in their place`() async throws {
      try await CacheAndOrigin.with { place in
        _ = try place.write("", "Vol. 1/2.mp3")
        _ = try place.write("", "Vol. 1/10.mp3")
        _ = try place.write("[playlist]\nFile1=deep.mp3", "more/b.pls")
        let inner = place.serve("#EXTM3U\nremote.mp3\n", "/inner.m3u")
        let live = place.serve("#EXTM3U\n#EXT-X-TARGETDURATION:2\n", "/live.m3u8")
        let list = try place.write(
          "a.mp3\nmore/b.pls\nVol. 1\n\(inner.absoluteString)\nlive.example.m3u8\n"
            + "\(live.absoluteString)\nz.mp3", "list.m3u")
        let expansion = try await place.expand(list)
        #expect(
          names(expansion) == [
            "a.mp3", "deep.mp3", "2.mp3", "10.mp3", "remote.mp3", "live.m3u8", "z.mp3",
          ])
        #expect(expansion.media[1].url.path.hasSuffix("/more/deep.mp3"))
        // The local .m3u8 does not exist.
        #expect(expansion.skipped.count == 1 && expansion.failure == nil)
      }
    }

    @Test func `Lists that list each other end with a message`() async throws {
      try await CacheAndOrigin.with { place in
        _ = try place.write("a.m3u\nb.m3u\nc.m3u\none.mp3", "a.m3u")
        _ = try place.write("a.m3u\nb.m3u\nc.m3u\ntwo.mp3", "b.m3u")
        _ = try place.write("a.m3u\nb.m3u\nc.m3u\nthree.mp3", "c.m3u")
        let link = place.folder.appending(path: "link.m3u")
        try FileManager.default.createSymbolicLink(
          at: link, withDestinationURL: place.folder.appending(path: "a.m3u"))
        let expansion = try await place.expand(link)
        #expect(names(expansion) == ["three.mp3", "two.mp3", "two.mp3", "three.mp3", "one.mp3"])
        #expect(expansion.skipped.count == 11)
        #expect(
          expansion.skipped.allSatisfy { $0.hasSuffix("it is a playlist that lists itself.") })
      }
    }

    @Test func `The number and the depth of lists in lists are limited`() async throws {
      try await CacheAndOrigin.with { place in
        for depth in 0...20 {
          _ = try place.write("\(depth).mp3\n\(depth + 1).m3u", "\(depth).m3u")
        }
        let deep = try await place.expand(place.folder.appending(path: "0.m3u"))
        #expect(deep.media.count == ArgumentExpansion.depthLimit && deep.skipped.count == 1)
        _ = try place.write("a.mp3", "leaf.m3u")
        let many = String(repeating: "leaf.m3u\n", count: ArgumentExpansion.nestedLimit + 5)
        let wide = try await place.expand(try place.write(many, "wide.m3u"))
        #expect(wide.media.count == ArgumentExpansion.nestedLimit && wide.skipped.count == 5)
      }
    }

    @Test func `A list is known by its content, whatever its name and type`() async throws {
      try await CacheAndOrigin.with { place in
        let feed = "<rss><channel><item><enclosure url='1.mp3'/></item></channel></rss>"
        for (path, type) in [("/feed", "audio/mpeg"), ("/f.php?id=1", "text/html"), ("/f.m3u", "")]
        {
          let expansion = try await place.expand(place.serve(feed, path, type))
          #expect(names(expansion) == ["1.mp3"], "\(path)")
        }
        #expect(names(try await place.expand(try place.write(feed, "song.mp3"))) == ["1.mp3"])
        // Without a mark, the type decides.
        let plain = place.serve("x.mp3\n", "/plain", "audio/x-mpegurl")
        #expect(names(try await place.expand(plain)) == ["x.mp3"])
        // Neither sound nor a stream is a list, and neither is what cannot be fetched.
        place.origin.serve(.synthetic(seed: 3, length: 60_000), at: "/radio")
        let stream = place.serve("#EXTM3U\n#EXT-X-TARGETDURATION:1\n", "/live", "audio/mpegurl")
        for url in [place.origin.url("/radio"), stream, place.origin.url("/missing")] {
          let expansion = try await place.expand(url)
          #expect(expansion.media.map(\.url) == [url] && expansion.failure == nil)
        }
        // A name of media is believed, without a request.
        let named = place.serve(feed, "/song.mp3")
        #expect(try await place.expand(named).media.map(\.url) == [named])
        #expect(place.origin.log("/song.mp3").requests.isEmpty)
      }
    }

    @Test func `References are relative to the URL after redirects`() async throws {
      try await CacheAndOrigin.with { place in
        _ = place.serve(
          "<rss><channel><item><enclosure url='1'/></item></channel></rss>", "/b/feed")
        place.origin.script("/feed", .on(.all, .redirect(302, to: "/b/feed")))
        let expansion = try await place.expand(place.origin.url("/feed"))
        #expect(expansion.media.map(\.url) == [place.origin.url("/b/1")])
      }
    }

    @Test func `Headers go no further than to the origin that they are meant for`() async throws {
      try await CacheAndOrigin.with { place in
        try await OriginServer.with { other in
          let back = place.origin.url("/own.mp3").absoluteString
          let inner = other.serve(text: "#EXTM3U\n\(back)\nother.mp3", at: "/l.m3u")
          let list = place.serve("#EXTM3U\nown.mp3\n\(inner)", "/list.m3u")
          let media = try await place.expand(list, Self.secret).media
          #expect(media.map(\.headers) == [Self.secret, [:], [:]])
          #expect(authorizations(other, "/l.m3u") == [nil])
        }
      }
    }

    @Test func `Headers that only describe the player go to all servers of a list`() async throws {
      try await CacheAndOrigin.with { place in
        let list = place.serve("#EXTM3U\nown.mp3\nhttps://other.example/a.mp3", "/list.m3u")
        let harmless: HeaderFields = ["User-Agent": "player", "Referer": "https://site.example/"]
        var all = harmless
        all.append("Cookie", "id=1")
        let media = try await place.expand(list, all).media
        #expect(media.map(\.headers) == [all, harmless])
      }
    }

    @Test func `Headers do not follow a list that its server redirects elsewhere`() async throws {
      try await CacheAndOrigin.with { place in
        try await OriginServer.with { other in
          let home = place.origin.url("/home.mp3").absoluteString
          let far = other.serve(text: "#EXTM3U\nfar.mp3\n\(home)\n/deep.m3u", at: "/far.m3u")
          other.serve(text: "#EXTM3U\ndeep.mp3", at: "/deep.m3u")
          place.origin.script("/moved.m3u", .on(.all, .redirect(302, to: far)))
          let outer = place.serve("#EXTM3U\nmoved.m3u", "/outer.m3u")
          for list in [place.origin.url("/moved.m3u"), outer] {
            let media = try await place.expand(list, Self.secret).media
            #expect(media.map(\.url.lastPathComponent) == ["far.mp3", "home.mp3", "deep.mp3"])
            #expect(media.map(\.headers) == [[:], Self.secret, [:]])
          }
          for path in ["/far.m3u", "/deep.m3u"] {
            #expect(authorizations(other, path) == [nil], "\(path)")
          }
        }
      }
    }

    @Test func `Many entries that do not play take a few lines`() async throws {
      try await CacheAndOrigin.with { place in
        let count = Omissions.limit + 7
        let bad = String(repeating: "ftp://h/x\n", count: count)
        let list = try place.write("good.mp3\n\(bad)", "list.m3u")
        let skipped = try await place.expand(list).skipped
        #expect(skipped.count == Omissions.limit + 1)
        #expect(skipped.last == "7 more entries do not play.")
        let empty = try await place.expand(try place.write(bad, "bad.m3u"))
        #expect(empty.failure?.reason.contains("nothing that can be played") == true)
      }
    }

    @Test func `A list in a list that does not arrive is left out`() async throws {
      try await CacheAndOrigin.with { place in
        place.origin.script("/slow.m3u", .on(.all, .delay(nil)))
        let list = place.serve("#EXTM3U\na.mp3\nslow.m3u\nb.mp3", "/list.m3u")
        let expansion = try await place.expand(list, patience: .milliseconds(100))
        #expect(names(expansion) == ["a.mp3", "b.mp3"])
        #expect(expansion.skipped.count == 1)
        #expect(expansion.skipped.first?.contains("did not arrive in time") == true)
      }
    }

    @Test func `A feed with a control character is read to its end`() async throws {
      try await CacheAndOrigin.with { place in
        let text =
          "<rss><channel><title>\u{1}</title>"
          + (0..<3).map { "<item><enclosure url='\($0).mp3'/></item>" }.joined()
          + "</channel></rss>"
        let feed = place.serve(text, "/feed")
        // The first bytes arrive alone.
        place.origin.script("/feed", .on(.all, .stall(at: .body(50), for: .milliseconds(50))))
        let expansion = try await place.expand(feed)
        #expect(names(expansion) == ["0.mp3", "1.mp3", "2.mp3"])
      }
    }

    @Test func `Media beyond the limit are left out, and no further list is read`() async throws {
      try await CacheAndOrigin.with { place in
        let inner = place.serve("#EXTM3U\nb.mp3\nc.mp3\nd.mp3", "/inner.m3u")
        let last = place.serve("#EXTM3U\ne.mp3", "/last.m3u")
        _ = try place.write("a.mp3\n\(inner.absoluteString)", "first.m3u")
        let list = try place.write("first.m3u\n\(last.absoluteString)", "list.m3u")
        let progress = ListProgress()
        progress.find(1)
        #expect(progress.text == "Reading list 1 of 1")
        let expansion = try await ArgumentExpansion(
          of: list, headers: [:], by: ListReading(cache: place.cache), mediaLimit: 3,
          progress: progress)
        #expect(names(expansion) == ["a.mp3", "b.mp3", "c.mp3"] && expansion.failure == nil)
        #expect(expansion.skipped == ["Only the first 3 entries are played."])
        #expect(progress.text == nil)
      }
    }
  }

  extension CacheAndOrigin {
    fileprivate func expand(
      _ url: URL, _ headers: HeaderFields = [:], patience: Duration = .seconds(60)
    ) async throws -> ArgumentExpansion {
      try await ArgumentExpansion(
        of: url, headers: headers, by: ListReading(cache: cache, patience: patience))
    }
  }
#endif
