// SPDX-License-Identifier: MIT
import Foundation

/// Measures the time that rewriting a stored playlist takes: from the request to the last byte, less
/// that of a file of the same length that is no playlist: its first byte differs.
enum RewrittenList: Benchmark {
  static let name = "proxy-list"
  private static let segments = 1000
  private static let rounds = 7
  private static let requests = 200

  private static let cost = Row(
    "warm, a playlist of 1,000 absolute URLs − a file of its length, time", .atMost(1),
    unit: "ms")
  static let rows = [cost]

  static func run(_ report: Report) async throws {
    let directory = Measure.temporaryDirectory("list")
    defer { try? FileManager.default.removeItem(at: directory) }
    let origin = try FileOrigin(in: directory)
    defer { origin.stop() }
    let list = Data(text(origin).utf8)
    try list.write(to: origin.files.appending(path: "list.m3u8"))
    // Content decides for a text.
    try (Data("x".utf8) + list.dropFirst()).write(to: origin.files.appending(path: "list.txt"))
    let peer = try Peer.refrain(
      cachingFrom: origin.url(""), in: directory.appending(path: "refrain"))
    defer { peer.stop() }
    let connection = try HTTPConnection(port: peer.port)
    let lengths = try ["/list.m3u8", "/list.txt"].map { try connection.whole(of: $0).length }
    guard lengths[0] < list.count, lengths[1] > list.count else {
      throw Failure("the playlist was not rewritten: \(lengths) bytes")
    }
    var times: [[Double]] = [[], []]
    for round in 0...rounds {
      for (index, path) in Measure.inTurns(["/list.m3u8", "/list.txt"], round) {
        let samples = try (0..<requests).map { _ in try connection.whole(of: path).seconds * 1e3 }
        // The first round warms up.
        if round > 0 { times[index].append(Measure.median(samples)) }
      }
    }
    report.note("    playlist \(Measure.spread(times[0])) ms, file \(Measure.spread(times[1])) ms")
    report.record(cost, zip(times[0], times[1]).map { $0 - $1 })
  }

  /// Each URL becomes shorter by the origin's address.
  private static func text(_ origin: FileOrigin) -> String {
    "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-PLAYLIST-TYPE:VOD\n"
      + (0..<segments).map { index in
        "#EXTINF:4.000,\n\(origin.url("/video/1080p/segment-\(100_000 + index).ts"))?token=0123456789abcdef\n"
      }.joined() + "#EXT-X-ENDLIST\n"
  }
}
