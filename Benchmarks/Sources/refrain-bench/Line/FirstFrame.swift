// SPDX-License-Identifier: MIT
import Foundation

/// Measures the first frame of a film over a slow line: ffmpeg through the cache, over ffmpeg
/// alone.
enum FirstFrame: Benchmark {
  static let name = "frame"
  private static let rounds = 7
  private static let milliseconds = 100.0
  private static let mebibytesPerSecond = 10.0

  private struct Case {
    let film: Film
    let seconds: Int
    let cold: Row
    let warm: Row

    init(_ film: Film, at seconds: Int) {
      (self.film, self.seconds) = (film, seconds)
      let what =
        "first frame over 100 ms, 10 MiB/s: \(film.title)"
        + (seconds == 0 ? " from the start" : " \(seconds) s in")
      cold = Row("\(what), cold ÷ ffmpeg alone, time", .atMost(1.05))
      warm = Row("\(what), warm ÷ ffmpeg alone, time")
    }
  }

  private static let cases = [
    Case(.mp4, at: 0), Case(.mp4, at: 60), Case(.moovLast, at: 0), Case(.moovLast, at: 60),
    Case(.mkv, at: 60),
  ]

  static let rows = cases.flatMap { [$0.cold, $0.warm] }

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("frame")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    for film in Film.allCases {
      try FileManager.default.createSymbolicLink(
        at: origin.files.appending(path: film.rawValue), withDestinationURL: try film.file())
    }
    let relay = try RelayProcess(
      origin: origin.port, milliseconds: milliseconds, mebibytesPerSecond: mebibytesPerSecond)
    defer { relay.stop() }
    // From here on the programs are in the system's caches.
    try Command.run(Program.refrain, ["--version"])
    try Command.run("ffmpeg", arguments(try Film.mp4.file().path, at: 0))
    for item in cases {
      await report.attempt([item.cold, item.warm]) {
        let url = "http://127.0.0.1:\(relay.port)/\(item.film.rawValue)"
        try race(item, arguments(url, at: item.seconds), directory, report)
      }
    }
  }

  private static func race(
    _ item: Case, _ arguments: [String], _ directory: URL, _ report: Report
  ) throws {
    let cache = directory.appending(path: "cache")
    let cached = ["run", "--cache", cache.path, "--", "ffmpeg"] + arguments
    var (alone, cold, warm): ([Double], [Double], [Double]) = ([], [], [])
    for round in 0..<rounds {
      for (index, _) in Measure.inTurns(["alone", "cached"], round) {
        if index == 0 {
          alone.append(try Command.run("ffmpeg", arguments).seconds)
        } else {
          cold.append(try Command.run(Program.refrain, cached).seconds)
          warm.append(try Command.run(Program.refrain, cached).seconds)
          try FileManager.default.removeItem(at: cache)
          sync()
        }
      }
    }
    report.note(
      "  ffmpeg alone \(Measure.spread(alone)) s, through the cache \(Measure.spread(cold)) s")
    report.record(item.cold, Measure.ratios(cold, to: alone))
    report.record(item.warm, Measure.ratios(warm, to: alone))
  }

  private static func arguments(_ input: String, at seconds: Int) -> [String] {
    ["-nostdin", "-v", "error"] + (seconds == 0 ? [] : ["-ss", "\(seconds)"])
      + ["-i", input, "-frames:v", "1", "-f", "null", "-"]
  }
}
