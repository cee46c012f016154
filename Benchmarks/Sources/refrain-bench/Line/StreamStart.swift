// SPDX-License-Identifier: MIT
import Foundation

/// Measures the first frame of an HTTP Live Stream: ffmpeg through the cache, over ffmpeg alone.
/// Over a slow line, and over the loopback interface, where an origin is as near as the cache.
enum StreamStart: Benchmark {
  static let name = "stream"
  private static let rounds = 7
  private static let milliseconds = 50.0
  private static let mebibytesPerSecond = 10.0
  private static let earlier = "earlier"

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
    try copyOfStream(in: origin.files)
    let relay = try RelayProcess(
      origin: origin.port, milliseconds: milliseconds, mebibytesPerSecond: mebibytesPerSecond)
    defer { relay.stop() }
    for (item, port) in [(line, relay.port), (loopback, origin.port)] {
      await report.attempt([item.cold, item.warm]) {
        try race(item, "http://127.0.0.1:\(port)", directory, report)
      }
    }
  }

  /// The same stream under other URLs, which the proxy serves first.
  private static func copyOfStream(in files: URL) throws {
    let copy = files.appending(path: earlier)
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    let names = try FileManager.default.contentsOfDirectory(atPath: files.path)
    for name in names where name != earlier {
      try FileManager.default.linkItem(
        at: files.appending(path: name), to: copy.appending(path: name))
    }
  }

  private static func race(
    _ item: Case, _ origin: String, _ directory: URL, _ report: Report
  ) throws {
    let url = "\(origin)/main.m3u8"
    func play(_ url: String) throws -> Double {
      let options = ["-nostdin", "-v", "error", "-i", url, "-frames:v", "1", "-f", "null", "-"]
      return try Command.run("ffmpeg", options).seconds
    }
    var (alone, first, cold, warm): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for round in 0...rounds {
      let folder = directory.appending(path: "proxy")
      defer { try? FileManager.default.removeItem(at: folder) }
      let peer = try Peer.refrain(cachingFrom: nil, in: folder)
      defer { peer.stop() }
      let cache = folder.appending(path: "cache").path
      func proxied(_ url: String) throws -> String {
        try Command.run(Program.refrain, ["url", "--cache", cache, url]).output
          .trimmingCharacters(in: .newlines)
      }
      let cached = try proxied(url)
      // A proxy serves many plays. Its first one costs it more, and is reported apart.
      let earliest = try play(proxied("\(origin)/\(earlier)/main.m3u8"))
      if round > 0 { first.append(earliest) }
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
        + "\(Measure.spread(cold, "%.3f")) s, warm \(Measure.spread(warm, "%.3f")) s, "
        + "the proxy's first play \(Measure.spread(first, "%.3f")) s")
    report.record(item.cold, Measure.ratios(cold, to: alone))
    report.record(item.warm, Measure.ratios(warm, to: alone))
  }
}
