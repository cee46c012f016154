// SPDX-License-Identifier: MIT
import Foundation

/// A `LineRelay` in a separate process. By hand: `refrain-bench --relay HOST:PORT RTT_MS MIB_PER_S`
/// prints the address to connect to, and runs until it is killed.
struct RelayProcess {
  static let command = "--relay"

  let port: Int
  private let child: Child

  init(origin port: Int, milliseconds: Double, mebibytesPerSecond: Double) throws {
    child = try Child(
      Program.own,
      [Self.command, "127.0.0.1:\(port)", "\(milliseconds)", "\(mebibytesPerSecond)"])
    let line = try child.line()
    guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
      child.stop()
      throw Failure("the relay said: \(line)")
    }
    self.port = port
  }

  func stop() { child.stop() }

  static func serve(arguments: [String]) throws {
    guard arguments.count == 4, let colon = arguments[1].lastIndex(of: ":"),
      let port = UInt16(arguments[1][colon...].dropFirst()),
      let milliseconds = Double(arguments[2]), milliseconds >= 0, milliseconds.isFinite,
      let rate = Double(arguments[3]), rate > 0, rate.isFinite
    else {
      print("Usage: refrain-bench --relay HOST:PORT ROUND_TRIP_MS MIB_PER_SECOND")
      exit(64)
    }
    let host = arguments[1][..<colon].trimmingCharacters(in: ["[", "]"])
    let relay = try LineRelay(
      origin: (host, Int(port)),
      line: Line(roundTrip: milliseconds / 1000, bytesPerSecond: rate * Double(1 << 20)))
    try FileHandle.standardOutput.write(contentsOf: Data("127.0.0.1:\(relay.port)\n".utf8))
    relay.run()
  }
}
