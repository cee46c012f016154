// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// What clients of a cache cost the origin, which sends 30 MiB a second: its own log says.
enum OriginCost {
  static let length: Int64 = 48 << 20

  static func run() async throws {
    print("proxy: what the origin had to send, of 48 MiB at 30 MiB/s")
    for name in ["nginx", "refrain"] {
      let directory = Measure.temporaryDirectory("cost-\(name)")
      defer { try? FileManager.default.removeItem(at: directory) }
      let origin = try await OriginServer.start()
      var resource = OriginResource.synthetic(seed: 1, length: length)
      resource.bytesPerSecond = 30 << 20
      resource.headers = [Field("Cache-Control", "max-age=86400")]
      for path in ["/jump", "/stall", "/crowd"] { origin.serve(resource, at: path) }
      let url = "http://127.0.0.1:\(origin.port)"
      let peer =
        name == "nginx"
        ? try Peer.nginx(cachingFrom: url, in: directory)
        : try Peer.refrain(cachingFrom: url, in: directory)
      defer { peer.stop() }

      _ = try WholeFile.get(peer.url("/jump"), range: "\(40 << 20)-\((40 << 20) + 9)")
      let jump = try await settled(origin, "/jump")
      try await stall(peer, "/stall")
      let stall = try await settled(origin, "/stall")
      let readers = try (0..<8).map { _ in
        try Child("curl", ["-q", "-sS", "--fail", "-o", "/dev/null", peer.url("/crowd")])
      }
      for reader in readers { _ = try reader.result() }
      let crowd = try await settled(origin, "/crowd")
      await origin.stop()
      print(
        "    " + peer.name.padding(toLength: 20, withPad: " ", startingAt: 0)
          + String(
            format: "10 bytes at 40 MiB: %.2f MiB; reads 1 MiB, stalls, leaves: %.2f MiB; "
              + "8 readers: %.2f × its size",
            mebibytes(jump), mebibytes(stall), Double(crowd) / Double(length)))
    }
  }

  /// A client that reads 1 MiB, takes nothing for 4 seconds, and leaves.
  private static func stall(_ peer: Peer, _ path: String) async throws {
    guard let connection = Port.connection(peer.port) else { throw CocoaError(.fileReadUnknown) }
    let request = "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(peer.port)\r\n\r\n"
    try connection.write(contentsOf: Data(request.utf8))
    var count = 0
    while count < 1 << 20 {
      guard let bytes = try connection.read(upToCount: (1 << 20) - count), !bytes.isEmpty else {
        throw CocoaError(.fileReadUnknown)
      }
      count += bytes.count
    }
    try await Task.sleep(for: .seconds(4))
    try connection.close()
  }

  /// Body bytes that the origin sent of a path, once it sends nothing more: nothing for 2 seconds.
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

  private static func mebibytes(_ bytes: Int64) -> Double { Double(bytes) / Double(1 << 20) }
}
