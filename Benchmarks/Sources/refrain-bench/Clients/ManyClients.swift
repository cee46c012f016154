// SPDX-License-Identifier: MIT
import Foundation

/// Measures the memory of `refrain serve` while 1,000 clients read 100 KiB a second each: of one
/// stored file, and of 1,000 files that are not stored.
enum ManyClients: Benchmark {
  static let name = "clients"
  private static let count = 1000
  private static let bytesPerSecond = 100 << 10

  private static let warm = Row(
    "\(count) clients at 100 KiB/s, warm: memory of refrain serve over idle", .atMost(100),
    unit: "MiB", digits: 0)
  private static let cold = Row(
    "\(count) clients at 100 KiB/s, cold: memory of refrain serve over idle", .atMost(100),
    unit: "MiB", digits: 0)
  static let rows = [warm, cold]

  static func run(_ report: Report) async throws {
    var limit = rlimit()
    getrlimit(.init(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(.init(RLIMIT_NOFILE.rawValue), &limit)
    let directory = Measure.temporaryDirectory("clients")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    try TestFile.make(origin.files.appending(path: "file.bin"), mebibytes: 48)
    let stored = directory.appending(path: "warm")
    let filler = try Peer.refrain(cachingFrom: origin.url(""), in: stored)
    _ = try WholeFile.get(filler.url("/file.bin"))
    filler.stop()
    await report.attempt([warm]) {
      try measure(
        warm, origin, in: stored, paths: Array(repeating: "/file.bin", count: count), seconds: 20,
        report)
    }
    await report.attempt([cold]) {
      // A shorter run: reading ahead for a thousand files fills the disk.
      try measure(
        cold, origin, in: directory.appending(path: "cold"),
        paths: (0..<count).map { "/file.bin?\($0)" }, seconds: 10, report)
    }
  }

  private static func measure(
    _ row: Row, _ origin: FileOrigin, in directory: URL, paths: [String], seconds: Double,
    _ report: Report
  ) throws {
    let peer = try Peer.refrain(cachingFrom: origin.url(""), in: directory)
    defer { peer.stop() }
    let idle = Memory.resident(peer.child.identifier)
    var most = idle
    let readers = try SlowReaders(port: peer.port, paths: paths, bytesPerSecond: bytesPerSecond)
    let rate = try readers.run(seconds: seconds) {
      most = max(most, Memory.resident(peer.child.identifier))
    }
    let mebibyte = Double(1 << 20)
    report.note(
      String(
        format: "  idle %.0f MiB, peak %.0f MiB; the clients had %.2f of the rate",
        idle / mebibyte, most / mebibyte, rate))
    guard rate > 0.9 else {
      throw Failure(String(format: "the clients had only %.2f of their rate", rate))
    }
    report.record(row, (most - idle) / mebibyte)
  }
}
