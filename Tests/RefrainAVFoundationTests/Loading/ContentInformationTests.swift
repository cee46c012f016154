// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import Testing

  /// The content information that AVFoundation receives.
  @Suite(.timeLimit(.minutes(1))) struct ContentInformationTests {
    @Test(arguments: [
      ("/a.mp3", "audio/mpeg", "public.mp3"), ("/a", "audio/mpeg", "public.mp3"),
      ("/a.mp3", "application/octet-stream", "public.mp3"),
      ("/a.m4a", "audio/mp4", "com.apple.m4a-audio"),
    ])
    func `The content type follows from the MIME type and the URL`(
      _ path: String, _ mimeType: String, _ expected: String
    ) async throws {
      try await withAssets { test in
        test.serve(10_000, at: path, type: mimeType)
        let information = try await test.player(path).ask()
        #expect(information.contentType == expected)
        #expect(information.contentLength == 10_000)
        #expect(information.isByteRangeAccessSupported)
      }
    }

    @Test func `Without a usable MIME type or URL, the first bytes give the type`() async throws {
      try await withAssets { test in
        var resource = OriginResource.synthetic(seed: 1, length: 5000)
        resource.content = .bytes(
          Array("fLaC".utf8) + [0, 0, 0, 34] + Array(repeating: 7, count: 5000))
        resource.contentType = "application/octet-stream"
        test.origin.serve(resource, at: "/download")
        let asset = test.cache.asset(for: test.resource("/download"))
        let request = asset.standInRequest(.information())
        #expect(await request.end().isFinished)
        #expect(request.information.contentType == "org.xiph.flac")
      }
    }

    @Test(arguments: [
      ("/a.m4a", "audio/mpeg", MediaBytes.fileType("isom", ["mp42"]), "com.apple.m4a-audio"),
      ("/a.m4a", "audio/mpeg", MediaBytes.mp3, "public.mp3"),
      ("/a.mp3", "audio/x-mpegurl", MediaBytes.text("unknown"), "public.mp3"),
    ])
    func `Of two declared types, the first bytes choose, or else the extension`(
      _ path: String, _ mimeType: String, _ bytes: [UInt8], _ expected: String
    ) async throws {
      try await withAssets { test in
        test.origin.serve(
          OriginResource(.bytes(bytes), contentType: mimeType, etag: "\"a\""), at: path)
        let asset = test.cache.asset(for: test.resource(path))
        let request = asset.standInRequest(.information())
        guard case .finished(redirect: nil) = await request.end() else {
          Issue.record("not finished, or redirected")
          return
        }
        #expect(request.information.contentType == expected)
        #expect(request.information.contentLength == Int64(bytes.count))
        #expect(asset.resourceLoader.standInLog.violations == [])
      }
    }

    @Test
    func `Of two declared types, the extension counts if no bytes can be read`() async throws {
      try await withAssets { test in
        test.serve(4_000_000, at: "/a.m4a", type: "audio/mpeg")
        try await test.cache.prefetch(test.resource("/a.m4a"), range: 3_000_000..<3_100_000)
        try await test.relaunched {
          $0.offline = true
        } _: { test in
          let player = test.player("/a.m4a")
          let request = try player.request(.information(bytes: nil))
          #expect(await request.end().isFinished)
          #expect(request.information.contentType == "com.apple.m4a-audio")
          #expect(await (try player.request(.bytes(1000, at: 3_000_000))).end().isFinished)
          let error = await (try player.request(.bytes(1000, at: 0))).end().error as? NSError
          #expect(error?.code == URLError.notConnectedToInternet.rawValue)
          player.check()
        }
      }
    }

    @Test(arguments: [nil, ["public.mpeg-4", "public.mp3"], []])
    func `An unknown type is left to AVFoundation, whatever it allows`(
      _ allowed: [String]?
    ) async throws {
      try await withAssets { test in
        test.origin.serve(
          OriginResource(
            .bytes(Array(repeating: 7, count: 5000)), contentType: "application/octet-stream",
            etag: "\"a\""), at: "/download")
        let asset = test.cache.asset(for: test.resource("/download"))
        let requests = [
          asset.standInRequest(.information(allowed: allowed)),
          asset.standInRequest(.toEnd(from: 2)),
        ]
        for request in requests { #expect(await request.end().isFinished) }
        let information = requests[0].information
        #expect(information.contentType == nil && information.contentLength == 5000)
        #expect(information.isByteRangeAccessSupported)
        #expect(requests[1].currentOffset == 5000)
        #expect(asset.resourceLoader.standInLog.violations == [])
      }
    }

    @Test func `An allowed type is chosen`() async throws {
      try await withAssets { test in
        test.serve(10_000, at: "/a.mp4", type: "video/mp4")
        let player = test.player("/a.mp4")
        let information = try await player.ask(allowed: ["public.mp3", "public.mpeg-4"])
        #expect(information.contentType == "public.mpeg-4")
        player.check()
      }
    }

    @Test func `A type that is not allowed is an error that names both types`() async throws {
      try await withAssets { test in
        test.serve(10_000)
        let player = test.player()
        let request = try player.request(.information(allowed: ["public.mpeg-4"]))
        let error = await request.end().error as? NSError
        #expect(error?.domain == NSURLErrorDomain)
        let text = error?.localizedDescription ?? ""
        #expect(text.contains("com.microsoft.waveform-audio") && text.contains("public.mpeg-4"))
        player.check()
      }
    }

    @Test
    func `Content information is delivered before bytes, in any order of requests`() async throws {
      for _ in 0..<20 {
        try await withAssets { test in
          test.serve(200_000)
          test.origin.script("/song.wav", .on(.number(1), .delay(nil)))
          let player = test.player()
          // Before anything comes: the stand-in reports data that comes before the information.
          let requests = [
            try player.request(.bytes(1000, at: 70_000)), try player.request(.toEnd(from: 0)),
            try player.request(.information()), try player.request(.information(bytes: nil)),
          ]
          try await test.origin.wait(for: "/song.wav") { $0.stalled == 1 }
          test.origin.release("/song.wav")
          for request in requests { #expect(await request.end().isFinished) }
          player.check()
        }
      }
    }

    // The second type contradicts the extension.
    @Test(
      arguments: [Wish.information(), .toEnd(from: 0), .bytes(10, at: 40)],
      ["audio/wav", "audio/mpeg"])
    func `A resource without a length is left to AVFoundation and not downloaded`(
      _ wish: Wish, _ mimeType: String
    ) async throws {
      try await withAssets { test in
        test.serve(200_000_000, type: mimeType) {
          $0.declaresLength = false
          $0.supportsRanges = false
        }
        let player = test.player(fill: .wholeResource)
        for _ in 0..<2 {
          guard case .finished(let redirect) = await (try player.request(wish)).end() else {
            Issue.record("not finished")
            return
          }
          #expect(redirect == test.origin.url("/song.wav"))
        }
        player.check()
        let log = try await test.origin.wait(for: "/song.wav") { $0.running == 0 }
        #expect(log.bodyBytesSent < 50_000_000)
        #expect(player.log.bytes == 0)
      }
    }

    @Test
    func `Offline, a stored playlist fails instead of redirecting to the origin`() async throws {
      try await withAssets { test in
        test.origin.serve(
          OriginResource(
            .bytes(Array("#EXTM3U\n#EXT-X-VERSION:3\n".utf8)),
            contentType: "application/vnd.apple.mpegurl"), at: "/live?id=7")
        try await test.cache.prefetch(test.resource("/live?id=7"))
        try await test.relaunched {
          $0.offline = true
        } _: { test in
          let player = test.player("/live?id=7")
          let error = await (try player.request(.information())).end().error as? NSError
          #expect(error?.code == URLError.notConnectedToInternet.rawValue)
          player.check()
        }
      }
    }

    @Test func `Any range can be requested from an origin without ranges`() async throws {
      try await withAssets { test in
        test.serve(500_000) { $0.supportsRanges = false }
        let player = test.player()
        let information = try await player.ask()
        #expect(information.isByteRangeAccessSupported)
        #expect(await (try player.request(.bytes(1000, at: 400_000))).end().isFinished)
        #expect(await (try player.request(.toEnd(from: 2))).end().isFinished)
        player.check()
        #expect(test.origin.log("/song.wav").bytesSentTwice == 0)
      }
    }

    @Test(arguments: ["application/vnd.apple.mpegurl", "application/octet-stream"])
    func `A playlist recognized only by its response is left to AVFoundation`(
      _ mimeType: String
    ) async throws {
      try await withAssets { test in
        var resource = OriginResource.synthetic(seed: 1, length: 1)
        resource.content = .bytes(Array("#EXTM3U\n#EXT-X-VERSION:3\n".utf8))
        resource.contentType = mimeType
        test.origin.serve(resource, at: "/live?id=7")
        let asset = test.cache.asset(for: test.resource("/live?id=7"))
        let request = asset.standInRequest(.information())
        guard case .finished(let redirect) = await request.end() else {
          Issue.record("not finished")
          return
        }
        #expect(redirect == test.origin.url("/live?id=7"))
        #expect(asset.resourceLoader.standInLog.violations == [])
      }
    }

    @Test func `A request beyond the end finishes without an error`() async throws {
      try await withAssets { test in
        test.serve(1000)
        let player = test.player()
        try await player.ask()
        for wish in [
          Wish.bytes(10, at: 1000), .bytes(10, at: 5000), .toEnd(from: 1000), .bytes(.max, at: 990),
          .bytes(0, at: 3), .toEnd(from: 9_000_000_000_000_000_000),
        ] {
          #expect(await (try player.request(wish)).end().isFinished, "\(wish)")
        }
        player.check()
      }
    }
  }
#endif
