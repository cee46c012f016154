// SPDX-License-Identifier: MIT
import Foundation

/// A file that both have stored. In turns, for a machine that is shared is not the same twice.
enum WarmRace {
  static let rounds = 5

  static func run(floor: Peer, nginx: Peer, refrain: Peer) throws {
    let loads = [
      ("64 KiB ranges ×16", RangeLoad(span: 64 << 10, connections: 16)),
      ("64 KiB ranges ×1", RangeLoad(span: 64 << 10, connections: 1)),
      ("1 MiB ranges ×1", RangeLoad(span: 1 << 20, connections: 1)),
    ]
    for (name, load) in loads {
      try race(name, [floor, nginx, refrain]) { peer in
        try load.run(on: peer, path: ProxyRace.file, length: ProxyRace.length)
      }
    }
    try race("whole file ×1", [floor, nginx, refrain], wholeFile)
  }

  private static func race(
    _ name: String, _ peers: [Peer], _ measure: (Peer) throws -> RangeLoad.Result
  ) throws {
    var results = [[RangeLoad.Result]](repeating: [], count: peers.count)
    for round in 0...rounds {
      for (index, peer) in Measure.inTurns(peers, round) {
        let result = try measure(peer)
        // The first round warms up.
        if round > 0 { results[index].append(result) }
      }
    }
    print("  \(name)")
    for (peer, results) in zip(peers, results) { print("    " + line(peer.name, results)) }
    let pairs = zip(results[2], results[1])
    let speed = pairs.map { $0.requestsPerSecond / $1.requestsPerSecond }
    let cpu = pairs.map { $0.cpuPerGiB / $1.cpuPerGiB }
    print("    to nginx: speed \(Measure.spread(speed)), CPU per GiB \(Measure.spread(cpu))")
  }

  private static func line(_ name: String, _ results: [RangeLoad.Result]) -> String {
    func median(_ value: (RangeLoad.Result) -> Double) -> Double {
      Measure.median(results.map(value))
    }
    return name.padding(toLength: 20, withPad: " ", startingAt: 0)
      + String(
        format: "%8.1f/s  p50 %7.3f ms  p99 %7.3f ms  %.3f CPU s/GiB",
        median(\.requestsPerSecond), median(\.median), median(\.percentile99), median(\.cpuPerGiB))
  }

  /// Several times, for the clock of CPU time ticks a hundred times a second.
  private static func wholeFile(_ peer: Peer) throws -> RangeLoad.Result {
    let before = peer.seconds
    let times = try (0..<8).map { _ in
      let got = try WholeFile.get(peer.url(ProxyRace.file))
      guard got.bytes == ProxyRace.length else {
        throw Child.Failure(description: "\(peer.name) sent \(got.bytes) bytes")
      }
      return got.seconds
    }
    let total = times.reduce(0, +)
    let gibibytes = Double(ProxyRace.length) / Double(1 << 30) * Double(times.count)
    return RangeLoad.Result(
      requestsPerSecond: Double(times.count) / total, median: Measure.median(times) * 1e3,
      percentile99: (times.max() ?? .nan) * 1e3, cpuPerGiB: (peer.seconds - before) / gibibytes)
  }
}
