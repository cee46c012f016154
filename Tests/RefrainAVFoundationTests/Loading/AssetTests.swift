// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import Testing

  @Suite(.timeLimit(.minutes(1))) struct AssetTests {
    @Test(arguments: [
      "file:///Users/me/a%20song.mp3", "https://example.org/live/master.m3u8?token=a%2Bb",
      "http://example.org/radio.M3U", "data:audio/wav;base64,AAAA",
      "ipod-library://item/item.m4a?id=1",
    ])
    func `A URL that cannot be cached becomes an ordinary asset`(_ text: String) async throws {
      try await withAssets { test in
        let url = try #require(URL(string: text))
        let asset = test.cache.asset(for: url, options: ["key": 1])
        #expect(asset.url == url)
        #expect(asset.resourceLoader.delegate == nil)
        #expect(asset.standInOptions == ["key": "1"])
        for await progress in asset.cacheProgress { Issue.record("\(progress)") }
        #expect(try await asset.cachedTimeRanges() == nil)
      }
    }

    @Test(arguments: [
      "https://cdn.example.org/a%2Fb%20c/%E4%BD%A0.mp3?sig=a%2Bb%3D%3D&x=1%202&&e=;'()*#t=10",
      "http://user:pa%40ss@example.org:8080/song.flac", "HTTPS://Example.ORG/a//b/../c.mp3",
      "https://[2001:db8::1]:443/a.mp4",
    ])
    func `Only the scheme of the URL is changed`(_ text: String) async throws {
      try await withAssets { test in
        let url = try #require(URL(string: text))
        let asset = test.cache.asset(for: url)
        let colon = try #require(text.firstIndex(of: ":"))
        #expect(
          asset.url.absoluteString == "refrain-\(text[..<colon].lowercased())\(text[colon...])")
        #expect(asset.url.pathExtension == url.pathExtension)
      }
    }

    @Test func `The origin receives no request before AVFoundation sends one`() async throws {
      try await withAssets { test in
        test.serve(10_000)
        let player = test.player()
        #expect(test.origin.log("/song.wav").requests.isEmpty)
        try await player.ask()
        #expect(!test.origin.log("/song.wav").requests.isEmpty)
      }
    }

    @Test func `A request for another URL is refused`() async throws {
      try await withAssets { test in
        test.serve(10_000)
        let asset = test.cache.asset(for: test.resource())
        let other = try #require(URL(string: "refrain-http://127.0.0.1/other.wav"))
        let outcome = await asset.standInRequest(.information(), other: other).end()
        guard case .refused = outcome else {
          Issue.record("\(outcome)")
          return
        }
      }
    }

    @Test func `Two players of one URL fetch every byte once`() async throws {
      try await withAssets { test in
        test.serve(3_000_000)
        let players = (0..<2).map { _ in test.player() }
        let requests = try players.flatMap { player in
          [try player.request(.information()), try player.request(.toEnd(from: 0))]
        }
        for request in requests { #expect(await request.end().isFinished) }
        for player in players { player.check() }
        let log = try await test.origin.wait(for: "/song.wav") { $0.running == 0 }
        #expect(log.bodyBytesSent == 3_000_000)
      }
    }

    @Test func `The whole-resource fill policy completes the entry`() async throws {
      try await withAssets { test in
        test.serve(20_000_000)
        let player = test.player(fill: .wholeResource)
        try await player.ask()
        let asset = try #require(player.asset)
        for await progress in asset.cacheProgress where progress.isComplete { break }
        #expect(try await test.cache.completeFile(for: test.cache.key(for: test.resource())) != nil)
        player.check()
      }
    }

    @Test func `A player never receives bytes of two versions`() async throws {
      try await withAssets { test in
        test.serve(3_000_000)
        let player = test.player()
        try await player.ask()
        #expect(await (try player.request(.bytes(200_000, at: 0))).end().isFinished)

        var changed = OriginResource.synthetic(seed: 99, length: 3_000_000)
        changed.contentType = "audio/wav"
        test.origin.serve(changed, at: "/song.wav")
        // Elsewhere in the resource, the origin reports that it has changed.
        let error = await (try player.request(.bytes(1000, at: 2_000_000))).end().error as? NSError
        #expect(
          (error?.userInfo[NSUnderlyingErrorKey] as? MediaCacheError)?.code == .resourceChanged)
        // Stored bytes of the old version play on, and no bytes of the new one come in between.
        #expect(await (try player.request(.bytes(200_000, at: 0))).end().isFinished)
        #expect(await (try player.request(.bytes(10, at: 2_500_000))).end().error != nil)
        player.check()

        let next = CheckedPlayer(
          test.cache.asset(for: test.resource()), bytes: SyntheticBytes(seed: 99))
        try await next.ask()
        #expect(await (try next.request(.toEnd(from: 0))).end().isFinished)
        next.check()
      }
    }
  }
#endif
