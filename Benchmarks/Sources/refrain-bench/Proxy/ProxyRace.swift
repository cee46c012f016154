// SPDX-License-Identifier: MIT
import Foundation

/// `refrain serve` and nginx's proxy cache, each with its own cache, in front of the same origin:
/// an nginx that serves a file of 256 MiB.
struct ProxyRace {
  static let length: Int64 = 256 << 20
  static let file = "/file.bin"

  let files: URL
  /// The origin: the lower bound for every cache.
  let floor: Peer
  /// nginx, then refrain.
  let peers: [Peer]

  /// Runs with both servers started, and their responses checked against the file, cold and warm.
  ///
  /// - Parameter isLogged: whether the servers write a line for each request to a file.
  static func run(isLogged: Bool = false, _ body: (ProxyRace) async throws -> Void) async throws {
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
    peers.append(
      try Peer.nginx(
        cachingFrom: floor.url(""), in: directory.appending(path: "nginx"), isLogged: isLogged))
    peers.append(
      try Peer.refrain(
        cachingFrom: floor.url(""), in: directory.appending(path: "refrain"), isLogged: isLogged))
    for peer in peers {
      for _ in 0..<2 { try WholeFile.check(peer.url(file), is: original) }
    }
    sync()
    try await body(ProxyRace(files: files, floor: floor, peers: peers))
  }
}
