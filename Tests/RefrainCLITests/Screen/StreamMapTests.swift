// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import RefrainPlayerStreams
import TestSupport
import Testing

@testable import RefrainCLI
@testable import RefrainPlayer

/// The stored part of streams on the screen of `play`.
@Suite(.timeLimit(.minutes(1)))
struct StreamMapTests {
  private func state() throws -> PlayerState {
    var state = PlayerState()
    let url = try #require(URL(string: "https://h/show.m3u8"))
    state.queue.replace(with: [Media(url), Media(url)])
    state.status = .playing
    state.duration = .seconds(100)
    state.streamProgress = StreamProgress(
      duration: .seconds(100), cachedRanges: [.seconds(0)..<Duration.seconds(25)],
      fetchingRanges: [.seconds(25)..<Duration.seconds(30)])
    return state
  }

  private func text(_ model: ScreenModel) -> String {
    ScreenRenderer(.blocks).figures(model, 80, lines: 1).map(\.text).joined()
  }

  @Test func `The map of a stream shows its stored times`() throws {
    var model = ScreenModel()
    model.show(try state())
    #expect(model.map.cached == [0..<0.25] && model.map.fetching == [0.25..<0.3])
    #expect(model.storedTime == .seconds(25) && model.totalTime == .seconds(100))
    #expect(text(model) == "25% of 1:40 stored")
    model.isOffline = true
    #expect(text(model) == "25% of 1:40 stored   offline")
  }

  @Test func `A stream that was played keeps its stored part in the queue`() throws {
    let state = try state()
    var known = KnownItems()
    known.note(.item(state.item))
    known.note(.streamProgress(state.streamProgress))
    known.note(.item(nil))
    known.note(.streamProgress(nil))
    let item = try #require(state.queue.items.first)
    #expect(known.items[item.id]?.cached == 0.25)
  }

  @Test func `A program receives the stored time of a stream`() throws {
    let state = try state()
    let line = try #require(PlayEvent(.streamProgress(state.streamProgress), about: nil))
    #expect(line.event == "cached" && line.storedSeconds == 25 && line.totalSeconds == 100)
    #expect(PlayEvent(.streamProgress(nil), about: nil) == nil)
  }

  @Test func `The stored part of a stream is that of its segments, not of its manifest`()
    async throws
  {
    try await CacheAndOrigin.with { place in
      let (origin, cache) = (place.origin, place.cache)
      let lines = (0..<4).map { "#EXTINF:4,\n\($0).ts\n" }.joined()
      origin.serve(text: "#EXTM3U\n\(lines)#EXT-X-ENDLIST\n", at: "/show.m3u8")
      origin.serve(text: "<MPD/>", at: "/show.mpd", "application/octet-stream")
      for index in 0..<4 { origin.serve(.synthetic(seed: 1, length: 50), at: "/\(index).ts") }
      let show = Resource(url: origin.url("/show.m3u8"))
      let part = StoredPart(cache: cache, isSoundOnly: false)
      #expect(try await part.fraction(of: show, withStream: true) == .unknown)
      try await cache.prefetch(show)
      #expect(try await part.fraction(of: show, withStream: true) == .known(0))
      #expect(try await part.fraction(of: show, withStream: false) == .unchanged)
      try await cache.prefetch(origin.url("/1.ts"))
      #expect(try await part.fraction(of: show, withStream: true) == .known(0.25))
      let segment = Resource(url: origin.url("/1.ts"))
      #expect(try await part.fraction(of: segment, withStream: true) == .known(1))
      let dash = Resource(url: origin.url("/show.mpd"))
      try await cache.prefetch(dash)
      #expect(try await part.fraction(of: dash, withStream: true) == .unknown)
    }
  }

  @Test func `The pictures of a stream count if the player shows them`() async throws {
    try await CacheAndOrigin.with { place in
      let (origin, cache) = (place.origin, place.cache)
      origin.serve(
        text:
          """
          #EXTM3U
          #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",DEFAULT=YES,URI="sound.m3u8"
          #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a"
          pictures.m3u8

          """, at: "/film.m3u8")
      for name in ["sound", "pictures"] {
        origin.serve(
          text: "#EXTM3U\n#EXTINF:4,\n\(name).ts\n#EXT-X-ENDLIST\n", at: "/\(name).m3u8")
        origin.serve(.synthetic(seed: 1, length: 50), at: "/\(name).ts")
      }
      for path in ["/film.m3u8", "/pictures.m3u8", "/sound.m3u8", "/sound.ts"] {
        try await cache.prefetch(origin.url(path))
      }
      let film = Resource(url: origin.url("/film.m3u8"))
      for (isSoundOnly, stored) in [(true, 1.0), (false, 0)] {
        let part = StoredPart(cache: cache, isSoundOnly: isSoundOnly)
        #expect(try await part.fraction(of: film, withStream: true) == .known(stored))
      }
    }
  }
}
