// SPDX-License-Identifier: MIT
import Foundation

/// Measures the line itself with curl: the deviation from the expected time, in percent.
struct LineCheck {
  let time: Row
  let kept: Row
  private let roundTrip: Double
  private let mebibytesPerSecond: Double

  init(_ line: String, roundTrip: Double, mebibytesPerSecond: Double) {
    self.roundTrip = roundTrip
    self.mebibytesPerSecond = mebibytesPerSecond
    time = Row("\(line): curl's time, off two round trips and size ÷ rate", .atMost(2), unit: "%")
    kept = Row(
      "\(line): what a kept connection saves curl, off a round trip", .atMost(2), unit: "%")
  }

  func run(line: String, bytes: Int64, _ report: Report) throws {
    let should = 2 * roundTrip + Double(bytes) / Double(1 << 20) / mebibytesPerSecond
    report.record(
      time,
      try (0..<3).map { _ in
        let got = try WholeFile.get(line + SlowLine.file)
        guard got.bytes == bytes else {
          throw Failure("curl received \(got.bytes) bytes over the line")
        }
        return off(got.seconds, should)
      })
    report.record(
      kept,
      try (0..<5).map { _ in
        let url = line + SlowLine.smallFile
        let output = try Command.run(
          "curl",
          ["-q", "-sS", "--fail", "-o", "/dev/null"]
            + ["-o", "/dev/null", "-w", "%{time_total} ", url, url]
        ).output
        let times = output.split(separator: " ").compactMap { Double($0) }
        guard times.count == 2 else { throw Failure("curl said: \(output)") }
        return off(times[0] - times[1], roundTrip)
      })
  }

  private func off(_ figure: Double, _ should: Double) -> Double { abs(figure / should - 1) * 100 }
}
