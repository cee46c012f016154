// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Prefetching of the next items.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct PrefetchTests {
  private func state(
    _ media: [Media], status: PlaybackStatus = .playing, buffered: Double = 0,
    stored: ClosedRange<Int64>? = nil
  ) -> PlayerState {
    var state = PlayerState()
    state.queue.replace(with: media)
    state.status = status
    state.position = .seconds(1)
    if buffered > 0 { state.bufferedRanges = [.seconds(1)..<(.seconds(1 + buffered))] }
    let spans = stored.map { RangeSet($0.lowerBound..<$0.upperBound) } ?? RangeSet()
    state.cacheProgress = CacheProgress(length: 1000, spans: spans)
    return state
  }

  private func media(_ name: String) throws -> Media {
    Media(try #require(URL(string: "http://h/\(name)")))
  }

  @Test func `The beginning of the next item is wanted once the current one is buffered`() throws {
    let two = [try media("a"), try media("b")]
    #expect(PrefetchWish(of: state(two, buffered: 2)) == nil)
    let wish = try #require(PrefetchWish(of: state(two, buffered: 8)))
    #expect(wish.resource.url == two[1].url && !wish.isWhole)
  }

  @Test func `The whole next item is wanted once the current one is stored completely`() throws {
    let two = [try media("a"), try media("b")]
    #expect(PrefetchWish(of: state(two, stored: 0...1000))?.isWhole == true)
    #expect(PrefetchWish(of: state(two, stored: 1...1000)) == nil)
  }

  @Test(arguments: [
    PlaybackStatus.loading, .buffering(.bytes), .buffering(.seek), .idle, .ended,
    .failed(MediaCacheError(.offline, "x")), .buffering(.network(MediaCacheError(.offline, "x"))),
  ])
  func `No prefetch is wanted while the current item is waiting, failed or ended`(
    _ status: PlaybackStatus
  ) throws {
    let two = [try media("a"), try media("b")]
    #expect(PrefetchWish(of: state(two, status: status, buffered: 9, stored: 0...1000)) == nil)
  }

  @Test func `No prefetch is wanted after the last item or for a local file`() throws {
    #expect(PrefetchWish(of: state([try media("a")], stored: 0...1000)) == nil)
    let file = Media(URL(filePath: "/music/b.flac"))
    #expect(PrefetchWish(of: state([try media("a"), file], stored: 0...1000)) == nil)
  }

  @Test func `A prefetch continues until the current item has to wait`() throws {
    let two = [try media("a"), try media("b")]
    let running = try #require(PrefetchWish(of: state(two, buffered: 8)))
    #expect(PrefetchWish(of: state(two, buffered: 2), after: running) == running)
    #expect(PrefetchWish(of: state(two, status: .buffering(.bytes)), after: running) == nil)
  }

  #if os(Linux)
    @Test(.enabled(if: RequiredLibrary.libmpv.isUsable))
    func `The next track is stored before it plays`() async throws {
      try await Listening.with { listening in
        let player = try await listening.player()
        player.play(listening.tracks)
        let second = try #require(listening.tracks[1].resource)
        try await eventually("the second track is stored") {
          try await listening.cache.progress(of: second).isComplete
        }
        // The third item waits until the second plays.
        #expect(player.queue.currentIndex == 0)
        #expect(listening.origin.log("/track-3.wav").requests.isEmpty)
        player.next()
        try await eventually("the third track is stored") {
          try await listening.cache.progress(of: try #require(listening.tracks[2].resource))
            .isComplete
        }
        let sent = (1...3).reduce(0) { $0 + listening.origin.log("/track-\($1).wav").bodyBytesSent }
        #expect(sent == Tracks.all.reduce(0) { $0 + Int64($1.count) })
        await player.close()
      }
    }
  #endif
}
