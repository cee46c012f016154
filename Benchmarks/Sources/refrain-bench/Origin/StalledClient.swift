// SPDX-License-Identifier: MIT
import Foundation

/// Measures the origin's cost of a client that reads 1 MiB of 48, takes nothing for four seconds,
/// and leaves, by the log of the origin's server. The same client at the origin itself shows the
/// capacity of one pair of socket buffers; through the cache there are two pairs.
enum StalledClient: Benchmark {
  static let name = "stall"
  private static let rounds = 3
  private static let mebibyte = Double(1 << 20)

  private static let cost = Row(
    "1 of 48 MiB read, stalled, left: origin's bytes without those in socket buffers",
    .atMost(2), unit: "MiB")
  private static let all = Row("the same, with those in socket buffers", unit: "MiB")
  static let rows = [cost, all]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("stall")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(origin.files.appending(path: "file.bin"), mebibytes: 48)
    var (costs, bytes): ([Double], [Double]) = ([], [])
    for round in 0..<rounds {
      var sent: [Double] = []
      for kind in ["direct", "cached"] {
        let path = "/\(kind)-\(round).bin"
        try FileManager.default.linkItem(
          at: origin.files.appending(path: "file.bin"),
          to: URL(filePath: origin.files.path + path))
        if kind == "direct" {
          try await stall(port: origin.port, path)
        } else {
          let peer = try Peer.refrain(
            cachingFrom: origin.url(""), in: directory.appending(path: "round-\(round)"))
          // Bytes that it still fetches count; a request that it holds open is logged when it has
          // ended.
          defer { peer.stop() }
          try await stall(port: peer.port, path)
          try await Task.sleep(for: .seconds(3))
        }
        sent.append(Double(try await origin.settledBytes(path).bytes) / mebibyte)
      }
      let buffered = sent[0] - 1
      report.note(
        String(format: "  sent %.2f MiB; directly %.2f MiB, of which 1 was read", sent[1], sent[0]))
      costs.append(sent[1] - 2 * buffered)
      bytes.append(sent[1])
    }
    report.record(cost, costs)
    report.record(all, bytes)
  }

  private static func stall(port: Int, _ path: String) async throws {
    let connection = try HTTPConnection(port: port)
    try connection.send(path)
    try connection.read(1 << 20)
    try await Task.sleep(for: .seconds(4))
    connection.close()
  }
}
