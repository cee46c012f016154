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

  /// Seconds in one direction.
  var delay: Double { roundTrip / 2 }

  /// The maximum number of bytes in flight in one direction of one connection: the line's capacity
  /// and a queue.
  var room: Int { Int(down.bytesPerSecond * roundTrip) + (256 << 10) }

  /// The number of bytes that travel together: about 0.8 ms' worth.
  var chunk: Int { min(64 << 10, max(4 << 10, Int(down.bytesPerSecond * 0.0008))) }
}

/// A slow line to an origin on this machine, made in user space because the kernel offers none.
/// Each incoming connection is connected to the origin, and bytes arrive as late as over that line,
/// the handshake included. The first byte of a response comes after two round trips on a new
/// connection, and after one on a connection that was kept. Nothing is lost, and there is no slow
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
      // Usually out of descriptors: other connections will close.
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
