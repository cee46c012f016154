// SPDX-License-Identifier: MIT
import Foundation

/// `refrain serve` against nginx's proxy cache, both in front of the same origin.
enum ProxyRace: Benchmark {
  static let name = "proxy"
  static let length: Int64 = 256 << 20
  static let file = "/file.bin"

  static let rows = WarmRace.rows + ColdRace.rows

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("proxy")
    defer { try? FileManager.default.removeItem(at: directory) }
    let files = directory.appending(path: "files")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    let original = URL(filePath: files.path + file)
    try TestFile.make(original, mebibytes: Int(length >> 20))
    let floor = try Peer.nginx(serving: files, in: directory.appending(path: "origin"))
    defer { floor.stop() }
    var peers: [Peer] = []
    defer { for peer in peers { peer.stop() } }
    let origin = floor.url("")
    for isLogged in [false, true] {
      func folder(_ name: String) -> URL { directory.appending(path: "\(name)-\(isLogged)") }
      peers.append(
        try Peer.nginx(cachingFrom: origin, in: folder("nginx"), isLogged: isLogged))
      peers.append(
        try Peer.refrain(cachingFrom: origin, in: folder("refrain"), isLogged: isLogged))
    }
    for peer in peers {
      // Cold and warm.
      for _ in 0..<2 { try WholeFile.check(peer.url(file), is: original) }
    }
    sync()
    await WarmRace.run(peers: Array(peers[..<2]) + [floor], logging: Array(peers[2...]), report)
    await ColdRace.run(nginx: peers[0], refrain: peers[1], files: files, report)
  }
}
