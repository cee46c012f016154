// SPDX-License-Identifier: MIT
import Foundation

/// Measures a file that is not stored, over a slow line: through the cache, over curl alone.
enum SlowLine: Benchmark {
  static let name = "line"
  static let mebibytes = 48
  static let file = "/file.bin"
  static let smallFile = "/small.bin"

  private struct Speed {
    let milliseconds: Double
    let mebibytesPerSecond: Double
    let rounds: Int
    let check: LineCheck
    let serve: Row
    let get: Row
    let nginx: Row

    init(_ milliseconds: Double, _ rate: Double, rounds: Int, serve: Double, get: Double) {
      (self.milliseconds, mebibytesPerSecond, self.rounds) = (milliseconds, rate, rounds)
      let line = String(format: "line of %.0f ms, %.0f MiB/s", milliseconds, rate)
      check = LineCheck(line, roundTrip: milliseconds / 1000, mebibytesPerSecond: rate)
      let cold = "\(line): \(mebibytes) MiB cold"
      self.serve = Row("\(cold), refrain serve ÷ curl alone, time", .atMost(serve), digits: 3)
      self.get = Row("\(cold), refrain get ÷ curl alone, time", .atMost(get), digits: 3)
      nginx = Row("\(cold), nginx slice 1m ÷ curl alone, time", digits: 3)
    }

    var rows: [Row] { [check.time, check.kept, serve, get, nginx] }
  }

  private static let speeds = [
    Speed(100, 20, rounds: 5, serve: 1.05, get: 1.02),
    Speed(200, 5, rounds: 3, serve: 1.03, get: 1.02),
  ]

  static let rows = speeds.flatMap(\.rows)

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("line")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(URL(filePath: origin.files.path + file), mebibytes: mebibytes)
    try Data(count: 1000).write(to: URL(filePath: origin.files.path + smallFile))
    // From here on the program is in the system's caches.
    try Command.run(Program.refrain, ["--version"])
    for speed in speeds {
      await report.attempt(speed.rows) {
        let relay = try RelayProcess(
          origin: origin.port, milliseconds: speed.milliseconds,
          mebibytesPerSecond: speed.mebibytesPerSecond)
        defer { relay.stop() }
        let line = "http://127.0.0.1:\(relay.port)"
        try speed.check.run(line: line, bytes: Int64(mebibytes) << 20, report)
        try race(speed, line, directory, report)
      }
    }
  }

  private static func race(
    _ speed: Speed, _ line: String, _ directory: URL, _ report: Report
  ) throws {
    let folder = directory.appending(path: "round")
    let runs: [() throws -> Double] = [
      { try curl(line) },
      { try curl(through: Peer.refrain(cachingFrom: line, in: folder)) },
      {
        try Command.run(Program.refrain, ["get", "--cache", folder.path, line + file]).seconds
      },
      { try curl(through: Peer.nginx(cachingFrom: line, in: folder)) },
    ]
    var times = [[Double]](repeating: [], count: runs.count)
    for round in 0..<speed.rounds {
      for (index, run) in Measure.inTurns(runs, round) {
        times[index].append(try run())
        // Files stored by one run do not burden the next.
        try? FileManager.default.removeItem(at: folder)
        sync()
      }
    }
    for (row, ours) in zip([speed.serve, speed.get, speed.nginx], times.dropFirst()) {
      report.record(row, Measure.ratios(ours, to: times[0]))
    }
  }

  /// Runs curl through a server that has just been started: like curl, it has no connection to the
  /// origin yet.
  private static func curl(through peer: Peer) throws -> Double {
    defer { peer.stop() }
    return try curl("http://127.0.0.1:\(peer.port)")
  }

  private static func curl(_ server: String) throws -> Double {
    try Command.run(
      "curl", ["-q", "-sS", "--fail", "-o", "/dev/null", server + file]
    ).seconds
  }
}
