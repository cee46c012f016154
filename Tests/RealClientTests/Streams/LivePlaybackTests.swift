// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import TestSupport
import Testing

/// A live HLS stream, without Cache-Control, in ffmpeg: through the proxy as directly, at the same
/// time. Half a minute; ten minutes in a soak.
@Suite(
  .enabled(if: RequiredProgram.ffmpeg.isUsable), .timeLimit(.minutes(TestSeed.minutes(5))))
struct LivePlaybackTests {
  private static let seconds = TestSeed.isSoak ? 600 : 30
  private static let atStart = 3
  /// The seconds in the list: a client that has no time for a while still finds its next segment.
  private static let window = TestSeed.isSoak ? 20 : 12

  /// Segments of one second, whose frames all differ.
  private func segments() async throws -> [LiveStream.Segment] {
    try await withDirectory { directory in
      try await run(
        .ffmpeg,
        ["-nostdin", "-v", "error", "-f", "lavfi"]
          + ["-i", "testsrc2=size=160x90:rate=25:duration=\(Self.seconds + Self.atStart)"]
          + StreamRecipe.codecs + ["-g", "25", "-keyint_min", "25"]
          + ["-f", "hls", "-hls_time", "1", "-hls_list_size", "0"]
          + ["-hls_segment_filename", "s%d.ts", "index.m3u8"],
        in: directory, limit: .seconds(300))
      return try (0..<Self.seconds + Self.atStart).map { number in
        LiveStream.Segment(
          [UInt8](try Data(contentsOf: directory.appending(path: "s\(number).ts"))),
          duration: .seconds(1))
      }
    }
  }

  /// Plays until the list ends, and returns the decoded frames by their times.
  private func play(_ url: URL) async throws -> [Int: String] {
    try await withDirectory { directory in
      try await run(
        .ffmpeg,
        ["-nostdin", "-v", "error", "-copyts", "-i", url.absoluteString, "-an"]
          + ["-f", "framemd5", "frames.txt"],
        in: directory, limit: .seconds(Self.seconds * 3 + 60))
      let text = try String(contentsOf: directory.appending(path: "frames.txt"), encoding: .utf8)
      var frames: [Int: String] = [:]
      for line in text.split(separator: "\n") where !line.hasPrefix("#") {
        let words = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        if words.count > 5, let time = Int(words[2]) { frames[time] = words[5] }
      }
      return frames
    }
  }

  /// Returns when each segment is requested, until cancelled.
  private func requests(
    under directory: String, of stream: LiveStream, on origin: OriginServer
  ) -> [Task<ContinuousClock.Instant?, Never>] {
    stream.segments.indices.map { number in
      Task {
        // Cancelled if the segment is never requested.
        _ = try? await origin.wait(for: directory + stream.name(number)) { !$0.requests.isEmpty }
        return Task.isCancelled ? nil : .now
      }
    }
  }

  private func times(
    _ tasks: [Task<ContinuousClock.Instant?, Never>]
  ) async -> [Int: ContinuousClock.Instant] {
    for task in tasks { task.cancel() }
    var times: [Int: ContinuousClock.Instant] = [:]
    for (number, task) in tasks.enumerated() { times[number] = await task.value }
    return times
  }

  @Test func `A live stream plays through the proxy as directly, and no later`() async throws {
    var stream = LiveStream(try await segments())
    (stream.window, stream.segmentsAtStart) = (Self.window, Self.atStart)
    let (direct, proxied) = ("/direct/", "/proxied/")
    try await Proxied.with { [stream] test in
      let clock = LiveClock.running()
      for directory in [direct, proxied] {
        test.origin.serve(stream, under: directory, clock: clock)
      }
      let waiting = [direct, proxied].map { requests(under: $0, of: stream, on: test.origin) }
      let url = try test.proxied(proxied + LiveStream.listName)
      async let expected = play(test.direct(direct + LiveStream.listName))
      let frames = try await play(url)
      let all = try await expected
      let (first, second) = (await times(waiting[0]), await times(waiting[1]))

      // Both begin with the third segment from the end of their first list.
      let start = max(all.keys.min() ?? 0, frames.keys.min() ?? 0)
      #expect(frames.filter { $0.key >= start } == all.filter { $0.key >= start })
      let numbers = second.keys.sorted()
      #expect(numbers == Array((numbers.first ?? 0)..<stream.segments.count), "a segment is missed")
      #expect(numbers.count >= Self.seconds / 2 && frames.count >= 25 * Self.seconds / 2)

      // Nobody may ask more often than every half of a target duration (RFC 8216 §6.3.4).
      let lists = [direct, proxied].map {
        test.origin.log($0 + LiveStream.listName).requests.count
      }
      #expect(lists[1] <= 2 * (Self.seconds + 2))
      // Directly, the same client asks as often; both have the same machine's moods.
      #expect(Double(lists[1]) <= Double(lists[0]) * 1.05 + 2)
      let lags = numbers.compactMap { number in
        first[number].flatMap { at in second[number].map { ($0 - at) / .seconds(1) } }
      }.sorted()
      let median = lags.isEmpty ? .infinity : lags[lags.count / 2]
      print(
        "Live for \(Self.seconds) s: \(lists[1]) requests for the list, directly \(lists[0]); "
          + "segments later by \(Int(median * 1000)) ms in the median, "
          + "\(Int((lags.last ?? 0) * 1000)) ms at most; \(frames.count) frames")
      // Half of a target duration. A busy machine may delay either client by its own turns.
      #expect(median <= (TestSeed.isSoak ? 0.5 : 1))
    }
  }
}
