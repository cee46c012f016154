// SPDX-License-Identifier: MIT
import Foundation

/// `refrain serve` against nginx's proxy cache, both in front of the same origin.
enum ProxyRace {
  static let length: Int64 = 256 << 20
  static let file = "/file.bin"

  static func run() async throws {
    let directory = Measure.temporaryDirectory("proxy")
    defer { try? FileManager.default.removeItem(at: directory) }
    let files = directory.appending(path: "files")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try makeFile(files.path + file)
    let floor = try Peer.nginx(serving: files, in: directory.appending(path: "origin"))
    defer { floor.stop() }
    let origin = "http://127.0.0.1:\(floor.port)"
    let nginx = try Peer.nginx(cachingFrom: origin, in: directory.appending(path: "nginx"))
    defer { nginx.stop() }
    let refrain = try Peer.refrain(cachingFrom: origin, in: directory.appending(path: "refrain"))
    defer { refrain.stop() }
    for peer in [nginx, refrain] {
      // Cold and warm.
      for _ in 0..<2 {
        try WholeFile.check(peer.url(file), is: URL(filePath: files.path + file))
      }
    }
    sync()
    print(
      "proxy: warm, 256 MiB, median of \(WarmRace.rounds) rounds; ratios to nginx in each round")
    try WarmRace.run(floor: floor, nginx: nginx, refrain: refrain)
    try ColdRace.run(nginx: nginx, refrain: refrain, files: files)
    try await OriginCost.run()
  }

  /// No block of it is like another, and none is a hole.
  private static func makeFile(_ path: String) throws {
    try Data().write(to: URL(filePath: path))
    let handle = try FileHandle(forWritingTo: URL(filePath: path))
    var state: UInt64 = 1
    for _ in 0..<(length >> 20) {
      let words = (0..<(1 << 17)).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
      }
      try handle.write(contentsOf: words.withUnsafeBytes { Data($0) })
    }
    try handle.close()
  }
}
