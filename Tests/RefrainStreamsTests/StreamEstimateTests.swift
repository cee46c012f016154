// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain
@testable import RefrainStreams

/// The estimated size of a stream. Pure.
struct StreamEstimateTests {
  private static func plan(
    _ tracks: (list: String, rate: StreamPlan.Rate)...
  ) throws -> StreamPlan {
    var plan = StreamPlan()
    for (number, track) in tracks.enumerated() {
      let url = try #require(URL(string: "https://a.example/\(number)/list.m3u8"))
      let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(track.list)#EXT-X-ENDLIST\n"
      plan.append(
        try #require(HLSMediaPlaylist(Array(text.utf8), url: url)), at: url, rate: track.rate)
    }
    return plan
  }

  private static let list = "#EXTINF:4,\n0.ts\n#EXTINF:4,\n1.ts\n"

  private static func estimate(_ plan: StreamPlan, _ lengths: [Int64?]? = nil) -> StreamEstimate {
    StreamEstimate(plan, lengths ?? plan.parts.map { _ in nil })
  }

  @Test func `A stated bit rate counts for the time of the unknown parts`() throws {
    let plan = try Self.plan((Self.list, .stated(8000)))
    #expect(Self.estimate(plan).total == 8000)
    #expect(Self.estimate(plan, [1000, nil]).total == 5000)
    #expect(Self.estimate(plan, [1000, 2000]).total == 3000)
  }

  @Test func `Known sound reduces what the variant's rate leaves for the pictures by its own rate`()
    throws
  {
    let plan = try Self.plan((Self.list, .ofVariant(8000)), (Self.list, .inVariant))
    #expect(Self.estimate(plan).total == 8000)
    #expect(Self.estimate(plan, [nil, nil, 400, 400]).total == 8000)
    #expect(Self.estimate(plan, [3600, nil, 400, 400]).total == 8000)
    #expect(Self.estimate(plan, [3600, 3600, nil, nil]).total == 8000)
    // Pictures that are smaller than stated.
    #expect(Self.estimate(plan, [100, 100, 400, 400]).total == 1000)
  }

  @Test func `Sound beside that of the variant has the same rate, or a usual one`() throws {
    let plan = try Self.plan(
      (Self.list, .ofVariant(8000)), (Self.list, .inVariant), (Self.list, .sound))
    #expect(Self.estimate(plan).total == 136_000)
    #expect(Self.estimate(plan).samples == [4, 5])
    #expect(Self.estimate(plan, [nil, nil, 400, 400, nil, nil]).total == 8800)
    #expect(Self.estimate(plan, [nil, nil, 400, 400, 900, nil]).total == 9800)
  }

  @Test func `A few lengths show the size where nothing is stated`() throws {
    let plan = try Self.plan((Self.list, .unstated))
    #expect(Self.estimate(plan).total == nil && Self.estimate(plan).bytes == 0)
    #expect(Self.estimate(plan).samples == [0, 1])
    #expect(Self.estimate(plan, [500, nil]).total == 1000)
    #expect(Self.estimate(plan, [500, nil]).samples.isEmpty)
  }

  @Test func `The bit rates and byte ranges of segments count`() throws {
    let rates = try Self.plan(
      ("#EXT-X-BITRATE:8\n#EXTINF:4,\n0.ts\n#EXT-X-BITRATE:16\n#EXTINF:4,\n1.ts\n", .unstated))
    #expect(Self.estimate(rates).total == 12_000)
    let ranges = try Self.plan(
      (
        "#EXT-X-BITRATE:8\n#EXT-X-BYTERANGE:100@0\n#EXTINF:4,\na.ts\n"
          + "#EXT-X-BYTERANGE:200\n#EXTINF:4,\na.ts\n", .unstated
      ))
    #expect(Self.estimate(ranges).total == 300)
  }

  @Test func `Subtitles and keys need no sample`() throws {
    let list = "#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n" + Self.list
    let plan = try Self.plan((list, .ofVariant(8000)), (Self.list, .subtitles))
    #expect(Self.estimate(plan).total == 8000 && Self.estimate(plan).samples.isEmpty)
  }

  @Test func `Sums of huge numbers do not overflow`() throws {
    let list = "#EXT-X-BITRATE:9223372036854775807\n#EXTINF:1e300,\n0.ts\n"
    let plan = try Self.plan((list, .unstated), (Self.list, .stated(.max)))
    #expect(Self.estimate(plan).bytes > 1 << 60)
    #expect(Self.estimate(plan, [.max, .max, .max]).bytes > 1 << 60)
  }
}
