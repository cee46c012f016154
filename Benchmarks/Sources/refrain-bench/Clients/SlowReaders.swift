// SPDX-License-Identifier: MIT
import Foundation

/// Clients of a server that read one file each at a fixed rate, over separate connections.
final class SlowReaders {
  private static let tick = 0.1

  private var connections: [HTTPConnection] = []
  private let bytesPerSecond: Int
  private var buffer: [UInt8]

  init(port: Int, paths: [String], bytesPerSecond: Int) throws {
    self.bytesPerSecond = bytesPerSecond
    buffer = [UInt8](repeating: 0, count: bytesPerSecond)
    for path in paths {
      // A larger kernel buffer would read ahead for the clients.
      let connection = try HTTPConnection(port: port, receiveBuffer: 16 << 10)
      try connection.send(path)
      connections.append(connection)
    }
  }

  /// Reads for `seconds`, and calls `observe` twice a second.
  ///
  /// - Returns: the combined rate of the clients, divided by the requested rate.
  func run(seconds: Double, observe: () -> Void) throws -> Double {
    let start = Monotonic.now
    var read = [Int](repeating: 0, count: connections.count)
    var observed = 0
    var tick = 0
    while Monotonic.now - start < seconds {
      tick += 1
      Monotonic.sleep(until: start + Double(tick) * Self.tick)
      // A client that fell behind catches up, as a player does.
      let due = Int((Monotonic.now - start) * Double(bytesPerSecond))
      for (index, connection) in connections.enumerated() {
        while read[index] < due {
          guard let count = connection.readAvailable(&buffer, due - read[index]) else {
            throw Failure("the server has left client \(index) after \(read[index]) bytes")
          }
          if count == 0 { break }
          read[index] += count
        }
      }
      if tick / 5 > observed {
        observed = tick / 5
        observe()
      }
    }
    let wanted = (Monotonic.now - start) * Double(bytesPerSecond * connections.count)
    return Double(read.reduce(0, +)) / wanted
  }
}
