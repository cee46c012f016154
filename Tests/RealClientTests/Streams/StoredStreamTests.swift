// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  /// Streams of which the program fetched one variant and one language, in players without the
  /// origin.
  @Suite(
    .enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(TestSeed.minutes(5))))
  struct StoredStreamTests {
    /// Neither the first, nor the best, nor the smallest of the three variants.
    private static let variant = "middle"
    private static let size = "256x144"
    private static let language = "en"

    /// Without a filter, ffmpeg would request every variant, mpv and hls.js the best one, and
    /// Chromium's own player the first one.
    @Test func `Players choose the variant that a killed and resumed get has stored`() async throws
    {
      let stream = try await StreamFixture.made(.absoluteVariants)
      try await withOrigin { pages in
        stream.serve(on: pages)
        Self.serveFetchedAlone(of: stream, on: pages)
        try await withOrigin { origin in
          stream.serve(on: origin)
          try await withDirectory { directory in
            let cache = directory.appending(path: "cache")
            try await Self.fetch(stream, from: origin, into: cache, in: directory)
            Self.expectChosenFetchedOnce(of: stream, from: origin)
            await origin.stopListening()
            try await Proxied.with(pagesFrom: pages, origin: origin, cacheIn: cache) { proxied in
              let direct = pages.url(Self.path(of: stream))
              let proxy = try proxied.proxied(stream.entry)
              try await Self.compareDecoded(direct, proxy)
              if RequiredProgram.chromium.isUsable {
                try await Self.compareInChromium(direct, proxy, pages)
              }
            }
          }
        }
      }
    }

    // MARK: Fetching

    /// Fetches the variant and the default language with two runs of the program. The first one is
    /// killed when all but one segment are stored, which stalls.
    private static func fetch(
      _ stream: StreamFixture, from origin: OriginServer, into cache: URL, in directory: URL
    ) async throws {
      let stalling = stream.folder + stalled
      origin.script(stalling, .on(.first(1), .stall(at: .body(100))))
      let arguments = ["get", "--quality", "144p", origin.url(stream.entry).absoluteString]
      let first = try BuiltProgram.start(
        arguments, cache: cache, output: directory.appending(path: "first.txt"), home: directory)
      let store = try MediaCache(directory: cache)
      // The first playlist is stored, too, and the segment that stalls is not.
      let count = chosenNames(of: stream).count
      let waiting = await Task {
        try await eventually("all but one segment are stored") {
          guard origin.log(stalling).stalled > 0 else { return false }
          let entries = try await store.entries()
          return entries.count { $0.isComplete } == count
        }
      }.result
      await store.close()
      #expect(first.isRunning)
      await first.kill()
      try waiting.get()
      let output = directory.appending(path: "second.txt")
      let second = try BuiltProgram.start(
        arguments, cache: cache, output: output, home: directory)
      let status = try await second.exitStatus(within: .seconds(60))
      let text = try String(contentsOf: output, encoding: .utf8)
      try #require(status == 0, "\(text)")
    }

    private static let stalled = "\(variant)/s4.m4s"

    /// The names of the files to fetch, besides the first playlist.
    private static func chosenNames(of stream: StreamFixture) -> Set<String> {
      Set(
        stream.files.keys.filter {
          $0.hasPrefix("\(variant)/") || $0.hasPrefix("\(language)/")
        })
    }

    private static func expectChosenFetchedOnce(
      of stream: StreamFixture, from origin: OriginServer
    ) {
      let chosen = chosenNames(of: stream)
      // Two playlists, each with an initialization segment and five segments.
      #expect(chosen.count == 14, "\(chosen)")
      for name in stream.files.keys where name != stream.kind.recipe.entry {
        let count = origin.log(stream.folder + name).requests.count
        let expected = chosen.contains(name) ? name == stalled ? 2 : 1 : 0
        #expect(count == expected, "\(name)")
      }
    }

    // MARK: Playing

    private static func compareDecoded(_ direct: URL, _ proxy: URL) async throws {
      for player in Decoder.usable {
        let expected = try await player.decodeStream(direct)
        let decoded = try await player.decodeStream(proxy)
        #expect(decoded == expected, "\(player)")
        // A frame of VLC's has no size.
        guard player != .vlc else { continue }
        let bytes = 256 * 144 * 3 / 2
        let pictures = decoded.frames.count { $0.contains(" \(bytes),") }
        // Nine seconds; ffmpeg may show one twice.
        #expect(pictures >= 225, "\(player)")
      }
    }

    private static func compareInChromium(
      _ direct: URL, _ proxy: URL, _ pages: OriginServer
    ) async throws {
      if WebPlayer.hlsJS.script.isUsable {
        let played = try await WebPlayer.hlsJS.play([direct, proxy], onPageOf: pages)
        let seen = try #require(played.first?.seen, "\(played)")
        try #require(seen.count == WebPlayerPage.seeks.count, "\(played)")
        #expect(seen.allSatisfy { $0.contains("+\(size)+") }, "\(played)")
        #expect(played.count == 2 && played.first == played.last)
      }
      let media = [direct, proxy].map { Page.Medium(name: "stream", url: $0, hasVideo: true) }
      let played = try await Chromium.play(media, from: pages, seeking: [6.5, 1.02])
      #expect(played.count == 2)
      for one in played {
        #expect(one.size == size, "\(one)")
        #expect(one.seen?.count == 2 && abs((one.ended ?? 0) - 9) < 0.2, "\(one)")
      }
    }

    // MARK: The expected stream

    private static func path(of stream: StreamFixture) -> String { stream.folder + "fetched.m3u8" }

    /// Serves a playlist that names what is fetched, and nothing else.
    private static func serveFetchedAlone(of stream: StreamFixture, on server: OriginServer) {
      let text = String(
        decoding: stream.bytes(of: stream.kind.recipe.entry, on: server), as: UTF8.self)
      var lines: [Substring] = []
      var isOfOtherVariant = false
      for line in text.split(separator: "\n") {
        let isVariant = line.hasPrefix("#EXT-X-STREAM-INF")
        let isOther =
          isOfOtherVariant || isVariant && !line.contains(size)
          || line.hasPrefix("#EXT-X-I-FRAME")
          || line.hasPrefix("#EXT-X-MEDIA")
            && !(line.contains("\"\(language)\"") && line.contains("AUDIO"))
        isOfOtherVariant = isVariant && isOther
        if !isOther { lines.append(line) }
      }
      let playlist =
        lines.joined(separator: "\n").replacing("SUBTITLES=\"text\",", with: "") + "\n"
      server.serve(
        OriginResource(.bytes(playlist.utf8), contentType: "application/vnd.apple.mpegurl"),
        at: path(of: stream))
    }
  }
#endif
