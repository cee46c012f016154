// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// Measures the cost of a cache's clients to the origin, which sends 30 MiB a second, by the
/// origin's log: through `refrain serve` and through nginx.
enum OriginCost: Benchmark {
  static let name = "cost"
  private static let length: Int64 = 48 << 20

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
      let origin = try await OriginServer.start()
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.bytesPerSecond = 30 << 20
      resource.headers = [Field("Cache-Control", "max-age=86400")]
      for path in ["/jump", "/crowd"] { origin.serve(resource, at: path) }
      let url = "http://127.0.0.1:\(origin.port)"
      let peer =
        index == 0
        ? try Peer.refrain(cachingFrom: url, in: directory)
        : try Peer.nginx(cachingFrom: url, in: directory)
      defer { peer.stop() }
      _ = try WholeFile.get(peer.url("/jump"), range: "\(40 << 20)-\((40 << 20) + 9)")
      report.record(rows.jump, Double(try await settled(origin, "/jump")) / Double(1 << 20))
      let readers = try (0..<8).map { _ in
        try Child("curl", ["-q", "-sS", "--fail", "-o", "/dev/null", peer.url("/crowd")])
      }
      for reader in readers { _ = try reader.result() }
      report.record(rows.crowd, Double(try await settled(origin, "/crowd")) / Double(length))
      await origin.stop()
    }
  }

  /// Returns the body bytes that the origin sent for a path, once it has sent nothing for 2
  /// seconds.
  private static func settled(_ origin: OriginServer, _ path: String) async throws -> Int64 {
    var (sent, quiet) = (origin.log(path).bodyBytesSent, 0)
    while quiet < 20 {
      try await Task.sleep(for: .milliseconds(100))
      let now = origin.log(path).bodyBytesSent
      quiet = now == sent ? quiet + 1 : 0
      sent = now
    }
    return sent
  }
}
