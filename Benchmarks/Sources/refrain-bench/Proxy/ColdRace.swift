// SPDX-License-Identifier: MIT
import Foundation

/// Files that neither has stored: how fast they come, and how soon they begin.
enum ColdRace {
  static let rounds = 5
  static let starts = 20

  static func run(nginx: Peer, refrain: Peer, files: URL) throws {
    for name in (0..<rounds).map({ "cold-\($0).bin" }) + (0..<starts).map({ "start-\($0).bin" }) {
      try FileManager.default.linkItem(
        at: URL(filePath: files.path + ProxyRace.file), to: files.appending(path: name))
    }
    let peers = [nginx, refrain]
    var speeds: [[Double]] = [[], []]
    for round in 0..<rounds {
      for (index, peer) in Measure.inTurns(peers, round) {
        let got = try WholeFile.get(peer.url("/cold-\(round).bin"))
        speeds[index].append(Measure.gibibytesPerSecond(got.bytes, got.seconds))
        // What one left to the disk is not the next one's burden.
        sync()
      }
    }
    var firsts: [[Double]] = [[], []]
    for round in 0..<starts {
      for (index, peer) in Measure.inTurns(peers, round) {
        let got = try WholeFile.get(peer.url("/start-\(round).bin"), range: "0-65535")
        firsts[index].append(got.firstByte * 1e3)
      }
    }
    print("proxy: cold, 256 MiB whole; first byte of \(starts) files not stored yet")
    for (index, peer) in peers.enumerated() {
      print(
        "    " + peer.name.padding(toLength: 20, withPad: " ", startingAt: 0)
          + "\(Measure.spread(speeds[index])) GiB/s, first byte after "
          + "\(Measure.spread(firsts[index])) ms")
    }
    print(
      "    to nginx: speed \(Measure.spread(zip(speeds[1], speeds[0]).map { $0 / $1 })), "
        + "first byte \(Measure.spread(zip(firsts[1], firsts[0]).map { $0 / $1 }))")
  }
}
