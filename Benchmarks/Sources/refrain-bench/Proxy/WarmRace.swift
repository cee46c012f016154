// SPDX-License-Identifier: MIT
import Foundation

/// Measures ranges of a file that both servers have stored, and the whole file. The servers take
/// turns, because the speed of a shared machine varies.
struct WarmRace: Benchmark {
  static let name = "proxy-warm"
  private static let rounds = 5

  /// The clients' requests; nil: the whole file by curl.
  private let load: RangeLoad?
  private let isLogged: Bool
  private let title: String
  private let speed: Row
  private let cpu: Row
  private let percentile99: Row?

  private init(
    _ title: String, _ load: RangeLoad?, isLogged: Bool = false, speed: Double, cpu: Double?,
    percentile99: Double? = nil
  ) {
    (self.load, self.isLogged, self.title) = (load, isLogged, title)
    self.speed = Row("warm, \(title) ÷ nginx, speed", .atLeast(speed))
    self.cpu = Row("warm, \(title) ÷ nginx, CPU per GiB", cpu.map { .atMost($0) })
    self.percentile99 = percentile99.map { Row("warm, \(title) ÷ nginx, p99", .atMost($0)) }
  }

  private static let races = [
    WarmRace(
      "64 KiB ranges ×16", RangeLoad(span: 64 << 10, connections: 16), speed: 1.0, cpu: 0.95,
      percentile99: 1.2),
    WarmRace(
      "64 KiB ranges ×16, both with a log", RangeLoad(span: 64 << 10, connections: 16),
      isLogged: true, speed: 1.0, cpu: 1.0, percentile99: 1.5),
    WarmRace("64 KiB ranges ×1", RangeLoad(span: 64 << 10, connections: 1), speed: 1.2, cpu: 0.8),
    WarmRace("1 MiB ranges ×1", RangeLoad(span: 1 << 20, connections: 1), speed: 1.1, cpu: 0.8),
    WarmRace("1 MiB ranges ×16", RangeLoad(span: 1 << 20, connections: 16), speed: 1.05, cpu: 0.8),
    WarmRace("whole file", nil, speed: 1.25, cpu: nil),
  ]

  static let rows: [Row] = races.flatMap { race in race.rows }

  private var rows: [Row] { [speed, cpu] + (percentile99.map { [$0] } ?? []) }

  static func run(_ report: Report) async throws {
    for isLogged in [false, true] {
      let races = races.filter { $0.isLogged == isLogged }
      await report.attempt(races.flatMap(\.rows)) {
        try await ProxyRace.run(isLogged: isLogged) { servers in
          for race in races {
            await report.attempt(race.rows) {
              try race.run(servers.peers + (isLogged ? [] : [servers.floor]), report)
            }
          }
        }
      }
    }
  }

  private func run(_ peers: [Peer], _ report: Report) throws {
    var results = [[RangeLoad.Result]](repeating: [], count: peers.count)
    for round in 0...Self.rounds {
      for (index, peer) in Measure.inTurns(peers, round) {
        let result =
          try load?.run(on: peer, path: ProxyRace.file, length: ProxyRace.length)
          ?? Self.wholeFile(peer)
        // The first round warms up.
        if round > 0 { results[index].append(result) }
      }
    }
    report.note("  \(title)")
    for (peer, results) in zip(peers, results) { report.note("    " + line(peer.name, results)) }
    func ratios(_ value: (RangeLoad.Result) -> Double) -> [Double] {
      Measure.ratios(results[1].map(value), to: results[0].map(value))
    }
    report.record(speed, ratios(\.requestsPerSecond))
    report.record(cpu, ratios(\.cpuPerGiB))
    if let percentile99 { report.record(percentile99, ratios(\.percentile99)) }
  }

  private func line(_ name: String, _ results: [RangeLoad.Result]) -> String {
    func median(_ value: (RangeLoad.Result) -> Double) -> Double {
      Measure.median(results.map(value))
    }
    return name.padding(toLength: 20, withPad: " ", startingAt: 0)
      + String(
        format: "%8.1f/s  p50 %7.3f ms  p99 %7.3f ms  %.3f CPU s/GiB",
        median(\.requestsPerSecond), median(\.median), median(\.percentile99), median(\.cpuPerGiB))
  }

  /// Repeats the download: the clock of CPU time ticks a hundred times a second.
  private static func wholeFile(_ peer: Peer) throws -> RangeLoad.Result {
    let before = peer.seconds
    let times = try (0..<8).map { _ in
      let got = try WholeFile.get(peer.url(ProxyRace.file))
      guard got.bytes == ProxyRace.length else {
        throw Failure("\(peer.name) sent \(got.bytes) bytes")
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
