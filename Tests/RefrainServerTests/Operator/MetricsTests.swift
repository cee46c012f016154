// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainServer

/// `/metrics`.
@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
  private static let promtool = RequiredProgram("promtool")

  @Test func `The page's own responses do not count in the time to first byte`() async throws {
    try await withPage { test, _ async throws in
      for place in ["", "/", "/page/state", "/page/page.js", "/page/action"] {
        _ = try await test.page(place)
      }
      _ = try await test.page("/page/events", method: "HEAD")
      #expect(test.proxy.service.traffic.values.firstBytes == 0)
      test.serve("/a", ["Cache-Control": "max-age=60"])
      _ = try await test.get("/a")
      try await eventually("it is counted") {
        test.proxy.service.traffic.values.firstBytes == 1
      }
    }
  }

  @Test func `Text in labels is escaped`() {
    var text = MetricsText()
    text.counter("a_total", "Help\nin two lines.", [([("x", "a\"b\\c\nd")], 3)])
    #expect(
      text.exposition
        == """
        # TYPE a_total counter
        # HELP a_total Help\\nin two lines.
        a_total{x="a\\"b\\\\c\\nd"} 3

        """)
  }

  @Test func `The figures equal those of the origin and the clients`() async throws {
    let seed = TestSeed.next()
    print("The seed of the metrics test is \(seed).")
    var random = SeededGenerator(seed: seed)
    try await withNode { test async throws in
      let paths = (0..<6).map { "/file-\($0)" }
      for (index, path) in paths.enumerated() {
        var resource = OriginResource.synthetic(seed: UInt64(index), length: 300_000)
        resource.headers = [
          Field("Cache-Control", index == 5 ? "private, no-store" : "max-age=600")
        ]
        test.origin.serve(resource, at: path)
      }
      var received = 0
      let count = 60
      for _ in 0..<count {
        let path = paths[Int.random(in: 0..<paths.count, using: &random)]
        let start = Int.random(in: 0..<300_000, using: &random)
        let whole = Bool.random(using: &random)
        let reply = try await test.get(path, whole ? [] : ["Range: bytes=\(start)-"])
        #expect(reply.isComplete && reply.status < 300)
        received += reply.body.count
      }
      // A response is counted when the socket has accepted it, which its client may notice first.
      try await eventually("all are counted") { test.log.all.count == count }
      let metrics = try await test.metrics()
      var sent = 0.0
      for source in ServedRequest.Source.allCases {
        let labels = ["source": source.rawValue]
        let logged = test.log.all.filter { $0.source == source }
        #expect(metrics.value("refrain_requests_total", labels) == Double(logged.count))
        let bytes = logged.reduce(0) { $0 + $1.bytesSent }
        #expect(metrics.value("refrain_sent_bytes_total", labels) == Double(bytes))
        sent += Double(bytes)
      }
      #expect(sent == Double(received))
      var (originBytes, originRequests) = (0.0, 0.0)
      for path in paths {
        let log = try await test.settledLog(path)
        originBytes += Double(log.bodyBytesSent)
        originRequests += Double(log.requests.count)
      }
      #expect(metrics.value("refrain_origin_bytes_total") == originBytes)
      #expect(metrics.value("refrain_origin_requests_total") == originRequests)
      // Stored bytes are fetched once, so that all others were stored before.
      let relayed = test.log.all.filter { $0.source == .relayed }.reduce(0) { $0 + $1.bytesSent }
      let saved = try #require(metrics.value("refrain_saved_bytes_total"))
      #expect(saved > 0 && saved <= sent - Double(relayed))
      #expect(metrics.value("refrain_time_to_first_byte_seconds_count") == Double(count))
      let used = try await test.cache.usage().allocatedBytes
      #expect(try #require(metrics.value("refrain_disk_used_bytes")) >= Double(used))
      #expect(metrics.value("refrain_request_errors_total") == 0)
      #expect(metrics.value("refrain_node_info", ["node": "node-1"]) == 1)
      #expect(metrics.value("refrain_draining") == 0)
      #if os(Linux)
        let open = try #require(metrics.value("process_open_fds"))
        let most = try #require(metrics.value("process_max_fds"))
        #expect(open > 3 && open < most)
      #endif
    }
  }

  @Test func `Requests, refusals and evictions are counted`() async throws {
    try await withNode(cache: { $0.limit = 400_000 }) { test async throws in
      for (path, length) in [("/a", 10_000), ("/b", 250_000), ("/c", 250_000)] as [(String, Int64)]
      {
        var resource = OriginResource.synthetic(seed: 1, length: length)
        resource.headers = [Field("Cache-Control", "max-age=600")]
        test.origin.serve(resource, at: path)
      }
      test.origin.script("/a", .on(.number(1), .delay(nil)))
      let one = Task { try await test.get("/a") }
      try await test.origin.wait(for: "/a") { $0.stalled == 1 }
      let other = Task { try await test.get("/a") }
      try await eventually("both wait") {
        try await test.metrics().value("refrain_readers") == 2
      }
      test.origin.release("/a")
      let first = try await one.value
      let second = try await other.value
      #expect(first.isComplete && second.isComplete)
      #expect(first["Cache-Status"]?.contains("; collapsed") == false)
      #expect(second["Cache-Status"]?.contains("; collapsed") == true)
      for path in ["/b", "/c", "/b", "/a"] {
        _ = try await test.get(path)
        // What is still read is not evicted.
        try await eventually("the reader is closed") {
          try await test.metrics().value("refrain_readers") == 0
        }
      }
      _ = try await test.reply(to: "/x", host: "evil.example")
      try await eventually("all are counted") { test.log.all.count == 7 }
      var metrics = try await test.metrics()
      // Entries are evicted in the background.
      try await eventually("enough is evicted") {
        metrics = try await test.metrics()
        return metrics.value("refrain_evicted_bytes_total") ?? 0 >= 100_000
      }
      #expect(metrics.value("refrain_request_errors_total") == 1)
      #expect(metrics.value("refrain_requests_total", ["source": "proxy"]) == 1)
      #expect(try #require(metrics.value("refrain_evictions_total")) >= 1)
      #expect(metrics.value("refrain_disk_limit_bytes") == 400_000)
    }
  }

  @Test(.enabled(if: Self.promtool.isUsable))
  func `Prometheus's own check finds nothing to report`() async throws {
    let text = try await withNodeMetrics()
    let process = Process()
    process.executableURL = try Self.promtool.path
    process.arguments = ["check", "metrics"]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    let (ends, ended) = AsyncStream<Void>.makeStream()
    process.terminationHandler = { _ in ended.finish() }
    try process.run()
    // Shorter than the pipe's buffer.
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    for await _ in ends {}
    let report = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.terminationStatus == 0, "\(report)")
    #expect(report.isEmpty, "\(report)")
  }

  private func withNodeMetrics() async throws -> String {
    var text = ""
    try await withNode { test async throws in
      test.serve("/a", ["Cache-Control": "max-age=60"])
      for _ in 0..<3 { _ = try await test.get("/a") }
      text = try await test.admin("/metrics").text
    }
    #expect(text.utf8.count < 60_000)
    return text
  }
}
