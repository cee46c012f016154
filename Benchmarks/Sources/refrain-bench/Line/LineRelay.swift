// SPDX-License-Identifier: MIT
import Foundation

/// A line: a round trip, and a rate for each direction.
final class Line: Sendable {
  let roundTrip: Double
  let up: LineRate
  let down: LineRate

  init(roundTrip: Double, bytesPerSecond: Double) {
    self.roundTrip = roundTrip
    up = LineRate(bytesPerSecond: bytesPerSecond)
    down = LineRate(bytesPerSecond: bytesPerSecond)
  }

  /// Seconds from one end to the other.
  var delay: Double { roundTrip / 2 }

  /// Most bytes under way in one direction of one connection: what the line holds, and a queue.
  var room: Int { Int(down.bytesPerSecond * roundTrip) + (256 << 10) }

  /// Bytes that travel together: some 0.8 ms' worth.
  var chunk: Int { min(64 << 10, max(4 << 10, Int(down.bytesPerSecond * 0.0008))) }
}

/// A slow line to an origin on this machine, made in user space, for the kernel has none to offer:
/// whatever connects to it is connected to the origin, and bytes arrive as late as over that line,
/// the handshake included. So the first byte of an answer comes after two round trips over a new
/// connection, and after one over a connection that was kept. Nothing is lost, and there is no slow
/// start.
struct LineRelay {
  let port: Int
  private let listener: Int32
  private let line: Line
  private let origin: (host: String, port: Int)

  init(origin: (host: String, port: Int), line: Line) throws {
    self.origin = origin
    self.line = line
    (listener, port) = try Sockets.listen()
  }

  /// Accepts connections for as long as the process lives.
  func run() {
    while true {
      let client = Sockets.accept(listener)
      // Out of descriptors, as a rule: others will be closed.
      guard client >= 0 else {
        usleep(1000)
        continue
      }
      let accepted = Monotonic.now
      Thread.detachNewThread { [line, origin] in
        guard let socket = Sockets.connect(host: origin.host, port: origin.port) else {
          Monotonic.sleep(until: accepted + line.roundTrip)
          Sockets.resetOnClose(client)
          close(client)
          return
        }
        LineConnection(client: client, origin: socket, line: line, accepted: accepted).start()
      }
    }
  }
}
