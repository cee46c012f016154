// SPDX-License-Identifier: MIT
import Foundation

/// Measures the first frame of an HTTP Live Stream: ffmpeg through the cache, over ffmpeg alone.
/// Over a slow line, and over the loopback interface, where an origin is as near as the cache.
enum StreamStart: Benchmark {
  static let name = "stream"
  private static let rounds = 7
  private static let milliseconds = 50.0
  private static let mebibytesPerSecond = 10.0

  private struct Case {
    let cold: Row
    let warm: Row
  }

  private static let line = Case(
    cold: Row("first frame of HLS over 50 ms, 10 MiB/s, cold ÷ ffmpeg alone, time", .atMost(1.1)),
    warm: Row("first frame of HLS over 50 ms, 10 MiB/s, warm ÷ ffmpeg alone, time", .atMost(0.9)))
  private static let loopback = Case(
    cold: Row("first frame of HLS over loopback, cold ÷ ffmpeg alone, time", .atMost(1.1)),
    warm: Row("first frame of HLS over loopback, warm ÷ ffmpeg alone, time"))

  static let rows = [line.cold, line.warm, loopback.cold, loopback.warm]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("stream")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try Command.run(
      "ffmpeg",
      ["-nostdin", "-v", "error", "-i", try Film.mp4.file().path, "-c", "copy", "-f", "hls"]
        + ["-hls_time", "4", "-hls_playlist_type", "vod", "-master_pl_name", "main.m3u8"]
        + [origin.files.appending(path: "list.m3u8").path])
    let relay = try RelayProcess(
      origin: origin.port, milliseconds: milliseconds, mebibytesPerSecond: mebibytesPerSecond)
    defer { relay.stop() }
    for (item, port) in [(line, relay.port), (loopback, origin.port)] {
      await report.attempt([item.cold, item.warm]) {
        try race(item, "http://127.0.0.1:\(port)/main.m3u8", directory, report)
      }
    }
  }

  private static func race(
    _ item: Case, _ url: String, _ directory: URL, _ report: Report
  ) throws {
    func play(_ url: String) throws -> Double {
      let options = ["-nostdin", "-v", "error", "-i", url, "-frames:v", "1", "-f", "null", "-"]
      return try Command.run("ffmpeg", options).seconds
    }
    var (alone, cold, warm): ([Double], [Double], [Double]) = ([], [], [])
    for round in 0...rounds {
      let folder = directory.appending(path: "proxy")
      defer { try? FileManager.default.removeItem(at: folder) }
      // Started before the measurement: a proxy serves many plays.
      let peer = try Peer.refrain(cachingFrom: nil, in: folder)
      defer { peer.stop() }
      let cache = folder.appending(path: "cache").path
      let cached = try Command.run(Program.refrain, ["url", "--cache", cache, url]).output
        .trimmingCharacters(in: .newlines)
      for (index, _) in Measure.inTurns(["alone", "cached"], round) {
        let seconds = try index == 0 ? [play(url)] : [play(cached), play(cached)]
        // The first round fills the system's caches.
        guard round > 0 else { continue }
        if index == 0 {
          alone += seconds
        } else {
          cold.append(seconds[0])
          warm.append(seconds[1])
        }
      }
    }
    report.note(
      "  ffmpeg alone \(Measure.spread(alone, "%.3f")) s, cold "
        + "\(Measure.spread(cold, "%.3f")) s, warm \(Measure.spread(warm, "%.3f")) s")
    report.record(item.cold, Measure.ratios(cold, to: alone))
    report.record(item.warm, Measure.ratios(warm, to: alone))
  }
}
