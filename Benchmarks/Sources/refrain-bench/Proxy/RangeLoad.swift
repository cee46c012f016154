// SPDX-License-Identifier: MIT
import Foundation

/// wrk requesting random, unaligned ranges of a file over connections that stay open.
struct RangeLoad {
  var span: Int
  var connections: Int
  var seconds = 2

  struct Result {
    var requestsPerSecond: Double
    /// In milliseconds.
    var median: Double
    var percentile99: Double
    /// CPU seconds of the server per GiB sent.
    var cpuPerGiB: Double
  }

  private static let script = """
    local path, length, span
    local threads = 0
    function setup(thread)
      threads = threads + 1
      thread:set("number", threads)
    end
    function init(arguments)
      path, length, span = arguments[1], tonumber(arguments[2]), tonumber(arguments[3])
      math.randomseed(os.time() * 16 + number)
    end
    function request()
      local start = math.random(0, length - span)
      return wrk.format("GET", path, { Range = "bytes=" .. start .. "-" .. start + span - 1 })
    end
    function done(summary, latency, requests)
      local errors = summary.errors
      io.write(string.format("result %d %d %d %d %d %d\\n", summary.requests, summary.duration,
        summary.bytes, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
    end
    """

  func run(on peer: Peer, path: String, length: Int64) throws -> Result {
    let script = Measure.temporaryDirectory("wrk.lua")
    try Data(Self.script.utf8).write(to: script)
    defer { try? FileManager.default.removeItem(at: script) }
    let before = peer.seconds
    let output = try Child.run(
      "wrk",
      [
        "-t", "\(min(connections, 2))", "-c", "\(connections)", "-d", "\(seconds)", "-s",
        script.path, peer.url(path), "--", path, "\(length)", "\(span)",
      ])
    let cpu = peer.seconds - before
    let line = output.split(separator: "\n").last { $0.hasPrefix("result ") } ?? ""
    let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
    guard numbers.count == 6, numbers[0] > 0, numbers[5] == 0 else {
      throw Failure("wrk on \(peer.name) said: \(output)")
    }
    // wrk counts a status of 200 as a success: a whole file instead of a range shows in the size.
    let size = numbers[2] / numbers[0]
    guard size >= Double(span), size < Double(span + 4096) else {
      throw Failure("\(peer.name) answered with \(size) bytes")
    }
    return Result(
      requestsPerSecond: numbers[0] / numbers[1] * 1e6, median: numbers[3] / 1e3,
      percentile99: numbers[4] / 1e3, cpuPerGiB: cpu / (numbers[2] / Double(1 << 30)))
  }
}
