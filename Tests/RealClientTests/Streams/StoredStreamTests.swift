// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

@testable import Refrain

/// Streams of which one variant and one language were fetched, in players without the origin.
@Suite(
  .enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(TestSeed.minutes(5))))
struct StoredStreamTests {
  /// Without a filter, ffmpeg would request every variant, and mpv and hls.js the best one.
  @Test func `Without the origin, players choose the variant that was fetched`() async throws {
    let stream = try await StreamFixture.made(.absoluteVariants)
    let pages = try await OriginServer.start()
    let outcome = await Task {
      stream.serve(on: pages)
      Self.serveFetchedAlone(of: stream, on: pages)
      try await Proxied.with(pagesFrom: pages) { proxied in
        stream.serve(on: proxied.origin)
        try await Self.fetch(stream, proxied)
        await proxied.origin.stopListening()
        let (direct, proxy) = (pages.url(Self.path(of: stream)), try proxied.proxied(stream.entry))
        for player in [StreamPlayer.ffmpeg, .mpv] where player.isUsable {
          let expected = try await player.decode(direct)
          let decoded = try await player.decode(proxy)
          #expect(decoded == expected, "\(player)")
        }
        if RequiredProgram.chromium.isUsable, WebPlayer.hlsJS.script.isUsable {
          let played = try await WebPlayer.hlsJS.play([direct, proxy], onPageOf: pages)
          try #require(played.first?.seen?.count == WebPlayerPage.seeks.count, "\(played)")
          #expect(played.count == 2 && played.first == played.last)
        }
      }
    }.result
    await pages.stop()
    try outcome.get()
  }

  /// Fetches the smaller pictures and the default language, in two runs.
  private static func fetch(_ stream: StreamFixture, _ proxied: Proxied) async throws {
    let resource = Resource(url: proxied.direct(stream.entry))
    try await proxied.cache.prefetch(resource)
    let download = StreamDownload(resource, into: proxied.cache)
    let source = try #require(try await download.source())
    var choice = StreamChoice()
    choice.quality = .worst
    let selection = try await download.select(choice, of: source)
    let last = try #require(selection.plan.parts.last)
    proxied.origin.script(
      last.url.path(percentEncoded: false),
      .on(.first(1), .stall(at: .body(100), for: .milliseconds(300))))
    let first = Task { try await download.run(selection) }
    try await proxied.origin.wait(for: last.url.path(percentEncoded: false)) {
      !$0.requests.isEmpty
    }
    first.cancel()
    await #expect(throws: (any Error).self) { try await first.value }
    _ = try await download.run(selection)
  }

  // MARK: The expected stream

  private static func path(of stream: StreamFixture) -> String { stream.folder + "fetched.m3u8" }

  /// Serves a playlist that names what is fetched, and nothing else.
  private static func serveFetchedAlone(of stream: StreamFixture, on server: OriginServer) {
    let text = String(
      decoding: stream.bytes(of: stream.kind.recipe.entry, on: server), as: UTF8.self)
    var lines: [Substring] = []
    var isOfVariant = false
    for line in text.split(separator: "\n") {
      defer { isOfVariant = line.hasPrefix("#EXT-X-STREAM-INF") && line.contains("256x144") }
      let isOther =
        isOfVariant || line.hasPrefix("#EXT-X-STREAM-INF") && line.contains("256x144")
        || line.hasPrefix("#EXT-X-I-FRAME")
        || line.hasPrefix("#EXT-X-MEDIA") && !(line.contains("\"en\"") && line.contains("AUDIO"))
      if !isOther { lines.append(line) }
    }
    let playlist = lines.joined(separator: "\n").replacing("SUBTITLES=\"text\",", with: "") + "\n"
    server.serve(
      OriginResource(.bytes(playlist.utf8), contentType: "application/vnd.apple.mpegurl"),
      at: path(of: stream))
  }
}
