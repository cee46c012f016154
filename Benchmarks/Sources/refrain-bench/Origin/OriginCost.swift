// SPDX-License-Identifier: MIT
import Foundation

/// Measures the cost of a cache's clients to the origin, which sends 30 MiB a second, by the
/// origin's log: through `refrain serve` and through nginx.
enum OriginCost: Benchmark {
  static let name = "cost"
  private static let mebibytes = 48

  private struct Rows {
    let peer: String
    let jump: Row
    let crowd: Row

    init(_ peer: String) {
      self.peer = peer
      jump = Row("origin's bytes for 10 bytes at 40 MiB of 48, \(peer)", unit: "MiB")
      crowd = Row("origin's bytes for 8 readers at once ÷ size, \(peer)")
    }
  }

  private static let peers = [Rows("refrain serve"), Rows("nginx slice 1m")]
  static let rows = peers.flatMap { [$0.jump, $0.crowd] }

  static func run(_ report: Report) async throws {
    for (index, rows) in peers.enumerated() {
      let directory = Measure.temporaryDirectory("cost")
      defer { try? FileManager.default.removeItem(at: directory) }
      let origin = try FileOrigin(in: directory, rate: 30 << 20)
      defer { origin.stop() }
      for name in ["jump", "crowd"] {
        try TestFile.make(origin.files.appending(path: name), mebibytes: mebibytes)
      }
      let folder = directory.appending(path: "peer")
      let peer =
        index == 0
        ? try Peer.refrain(cachingFrom: origin.url(""), in: folder)
        : try Peer.nginx(cachingFrom: origin.url(""), in: folder)
      defer { peer.stop() }
      _ = try WholeFile.get(peer.url("/jump"), range: "\(40 << 20)-\((40 << 20) + 9)")
      report.record(rows.jump, try await mebibytesSent("/jump", by: origin))
      let readers = try (0..<8).map { _ in
        try Child("curl", ["-q", "-sS", "--fail", "-o", "/dev/null", peer.url("/crowd")])
      }
      for reader in readers { _ = try reader.result() }
      report.record(rows.crowd, try await mebibytesSent("/crowd", by: origin) / Double(mebibytes))
    }
  }

  private static func mebibytesSent(_ path: String, by origin: FileOrigin) async throws -> Double {
    Double(try await origin.settledBytes(path).bytes) / Double(1 << 20)
  }
}
