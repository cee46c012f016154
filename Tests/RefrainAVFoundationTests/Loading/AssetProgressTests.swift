// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import Testing

  /// The progress that a scrubber shows.
  @Suite(.timeLimit(.minutes(1))) struct AssetProgressTests {
    @Test func `Stored spans are reported in bytes and in time`() async throws {
      try await withAssets { test in
        test.serve(2_000_000)
        try await test.cache.prefetch(test.resource(), range: 0..<500_000)
        let player = test.player()
        let asset = try #require(player.asset)
        #expect(try await asset.cachedTimeRanges() == [])
        asset.standInDuration = CMTime(value: 2_000_000 / 4, timescale: 44_100)
        let stored = try await test.cache.progress(of: test.resource())
        let times = try #require(try await asset.cachedTimeRanges())
        #expect(times.count == 1)
        let end = try #require(stored.spans.ranges.first).upperBound
        #expect(times.first?.start == CMTime(value: 0, timescale: 44_100))
        #expect(times.first?.duration == CMTime(value: end / 4, timescale: 44_100))
        #expect(end >= 500_000 && !stored.isComplete)
      }
    }

    @Test func `Progress is reported until the resource is complete`() async throws {
      try await withAssets { test in
        test.serve(4_000_000)
        let player = test.player()
        let asset = try #require(player.asset)
        let updates = asset.cacheProgress
        let following = Task {
          var all: [CacheProgress] = []
          for await progress in updates {
            all.append(progress)
            if progress.isComplete { break }
          }
          return all
        }
        try await player.ask()
        #expect(await (try player.request(.toEnd(from: 0))).end().isFinished)
        let all = await following.value
        #expect(all.last?.storedBytes == 4_000_000 && all.last?.fraction == 1)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.storedBytes <= $1.storedBytes })
      }
    }

    @Test func `A removed entry is reported with no stored bytes`() async throws {
      try await withAssets { test in
        test.serve(100_000)
        try await test.cache.prefetch(test.resource())
        let asset = try #require(test.player().asset)
        var updates = asset.cacheProgress.makeAsyncIterator()
        #expect(await updates.next()?.isComplete == true)
        try await test.cache.remove(test.cache.key(for: test.resource()))
        #expect(await updates.next()?.storedBytes == 0)
      }
    }

    @Test func `Time ranges are reported for any duration and length`() {
      let progress = CacheProgress(length: 1000, spans: RangeSet(0..<1000))
      let duration = CMTime(value: .max, timescale: 1)
      #expect(progress.timeRanges(of: duration).first?.duration == duration)
      let begin = CacheProgress(length: .max, spans: RangeSet(0..<(.max - 1)))
      #expect(begin.timeRanges(of: duration).count == 1)
    }

    @Test func `Progress and events end when the cache closes`() async throws {
      try await withAssets { test in
        test.serve(1000)
        let asset = try #require(test.player().asset)
        let updates = asset.cacheProgress
        let following = Task { for await _ in updates {} }
        await test.cache.close()
        await following.value
        // A late subscriber has nothing to wait for.
        for await _ in asset.cacheProgress {}
        for await _ in test.cache.events() {}
      }
    }
  }
#endif
