// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  /// The proxy's page while a player plays through the proxy, and the program looks at the same
  /// directory.
  @Suite(
    .enabled(if: RequiredProgram.chromium.isUsable && RequiredProgram.mpv.isUsable),
    .timeLimit(.minutes(TestSeed.minutes(3))))
  struct PlayerStripTests {
    /// Six minutes of silence. The sockets take some MiB of it at each jump.
    private static let length: Int64 = 64 << 20
    private static let headLength = Int64(WAV.headLength)
    private static let bytesPerSecond: Int64 = 44_100 * 4
    private static let seconds = Double((length - headLength) / bytesPerSecond)

    /// 16-bit samples in stereo.
    private static let film = OriginContent.bytes(
      WAV.head(Int(length - headLength), rate: 44_100, channels: 2, bytesPerSample: 2)
        + [UInt8](repeating: 0, count: Int(length - headLength)))

    /// Returns a script for the spans of a row, of which the strip is drawn.
    private static func spans(ofRow key: CacheKey) -> String {
      """
      (async () => {
        const store = await import("./page/page.js");
        return store.rows.get(\(JSONText.of(key.rawValue)))?.spans ?? [];
      })()
      """
    }

    @Test func `The strip shows what the program reports after each jump of a player`()
      async throws
    {
      let seed = TestSeed.next()
      print("REFRAIN_SEED=\(seed) (strip of the page with mpv)")
      try await Proxied.with(hasPage: true) { proxied in
        proxied.origin.serve(
          OriginResource(
            Self.film, contentType: "audio/wav", etag: "\"film\"",
            headers: [Field("Cache-Control", "max-age=3600")]),
          at: "/film.wav")
        let direct = proxied.origin.url("/film.wav")
        let url = try proxied.proxied("/film.wav")
        let key = proxied.cache.key(for: Resource(url: direct))
        let cache = proxied.directory.appending(path: "cache")
        try await DevTools.with(try #require(proxied.page)) { tools in
          try await ControlledMPV.with(url, in: proxied.directory) { player in
            try await eventually("mpv plays") { try await player.isPlaying }
            var random = SeededGenerator(seed: seed)
            for _ in 0..<20 {
              let target = Double.random(in: 0..<Self.seconds - 30, using: &random)
              try await player.seek(to: target)
              try await eventually("mpv plays at the target") {
                try await player.plays(from: target)
              }
              // Nothing more is read after a moment.
              try await player.setPaused(true)
              let offset = Self.headLength + Int64(target * Double(Self.bytesPerSecond))
              try await eventually("the strip equals what the program reports") {
                let pixels: String = try await tools.evaluate(
                  PageStrip.pixels(ofRow: "film.wav"))
                // Starts the program only once it can agree.
                guard let summary = try await proxied.cache.entry(for: key),
                  summary.spans.contains(offset),
                  PageStrip.agrees(pixels, with: summary.spans, of: summary.length),
                  let told = try await BuiltProgram.info(direct, in: cache)
                else { return false }
                let drawn: String = try await tools.evaluate(PageStrip.pixels(ofRow: "film.wav"))
                let shown: [Int64] = try await tools.evaluate(Self.spans(ofRow: key))
                return told.ranges.contains(offset) && shown == told.spans.flatMap { $0 }
                  && PageStrip.agrees(drawn, with: told.ranges, of: told.length)
              }
              try await player.setPaused(false)
            }
          }
        }
        let summary = try #require(try await proxied.cache.entry(for: key))
        #expect(summary.spans.ranges.count > 5)
        #expect(summary.cachedBytes < Self.length)
      }
    }
  }
#endif
