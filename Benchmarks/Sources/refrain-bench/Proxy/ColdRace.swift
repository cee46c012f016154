// SPDX-License-Identifier: MIT
import Foundation

/// Measures files that neither server has stored: throughput, processor time, and the time to the
/// first byte.
enum ColdRace: Benchmark {
  static let name = "proxy-cold"
  private static let rounds = 7
  private static let starts = 30

  private static let speed = Row("cold, whole file ÷ nginx, speed", .atLeast(1.2))
  private static let cpu = Row("cold, whole file ÷ nginx, CPU per GiB", .atMost(1))
  private static let kept = Row(
    "cold, first byte of 64 KiB ÷ nginx, kept connection, time", .atMost(1))
  private static let fresh = Row(
    "cold, first byte of 64 KiB ÷ nginx, fresh connection, time", .atMost(1))
  static let rows = [speed, cpu, kept, fresh]

  static func run(_ report: Report) async throws {
    try await ProxyRace.run { servers in
      await measure(servers.peers, servers.files, report)
    }
  }

  private static func measure(_ peers: [Peer], _ files: URL, _ report: Report) async {
    await report.attempt([speed, cpu]) { try wholeFiles(peers, files, report) }
    await report.attempt([kept]) {
      // Each connection has served a request already, and so has its connection to the origin.
      let connections = try peers.map { try HTTPConnection(port: $0.port) }
      for connection in connections {
        _ = try connection.firstByte(of: ProxyRace.file, range: "0-65535")
      }
      try firstBytes(kept, "kept", files, report) { index, path in
        try connections[index].firstByte(of: path, range: "0-65535")
      }
    }
    await report.attempt([fresh]) {
      try firstBytes(fresh, "fresh", files, report) { index, path in
        let start = Monotonic.now
        let connection = try HTTPConnection(port: peers[index].port)
        let connected = Monotonic.now - start
        return try connected + connection.firstByte(of: path, range: "0-65535")
      }
    }
  }

  private static func wholeFiles(_ peers: [Peer], _ files: URL, _ report: Report) throws {
    var (speeds, costs): ([[Double]], [[Double]]) = ([[], []], [[], []])
    for round in 0...rounds {
      let path = try link("/cold-\(round).bin", files)
      for (index, peer) in Measure.inTurns(peers, round) {
        Memory.warmFreePages(Int(ProxyRace.length) * 3)
        let before = peer.seconds
        let got = try WholeFile.get(peer.url(path))
        guard got.bytes == ProxyRace.length else {
          throw Failure("\(peer.name) sent \(got.bytes) bytes")
        }
        // Pending work counts for this run, and does not burden the next one.
        sync()
        if round > 0 {
          speeds[index].append(Measure.gibibytesPerSecond(got.bytes, got.seconds))
          costs[index].append((peer.seconds - before) / Double(got.bytes) * Double(1 << 30))
        }
      }
    }
    for (index, peer) in peers.enumerated() {
      report.note(
        "    " + peer.name.padding(toLength: 20, withPad: " ", startingAt: 0)
          + "\(Measure.spread(speeds[index])) GiB/s, \(Measure.spread(costs[index])) CPU s/GiB")
    }
    report.record(speed, Measure.ratios(speeds[1], to: speeds[0]))
    report.record(cpu, Measure.ratios(costs[1], to: costs[0]))
  }

  private static func firstBytes(
    _ row: Row, _ title: String, _ files: URL, _ report: Report,
    _ firstByte: (_ peer: Int, _ path: String) throws -> Double
  ) throws {
    var times: [[Double]] = [[], []]
    for round in 0..<starts {
      let path = try link("/\(title)-\(round).bin", files)
      for (index, _) in Measure.inTurns(["nginx", "refrain"], round) {
        times[index].append(try firstByte(index, path) * 1e3)
      }
    }
    report.note("    nginx \(Measure.spread(times[0])) ms, refrain \(Measure.spread(times[1])) ms")
    report.record(row, Measure.ratios(times[1], to: times[0]))
  }

  private static func link(_ path: String, _ files: URL) throws -> String {
    try FileManager.default.linkItem(
      at: URL(filePath: files.path + ProxyRace.file), to: URL(filePath: files.path + path))
    return path
  }
}
