// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Every row of RFC 9110 §14 (ranges) and §13 (conditions) that applies to a GET or HEAD, each
/// against the same resource cold, warm, half stored, and of unknown length.
@Suite(.timeLimit(.minutes(2))) struct SemanticsTableTests {
  static let length: Int64 = 20_000
  static let etag = "\"v1\""
  static let modified = "Wed, 01 Jan 2025 00:00:00 GMT"
  static let modifiedDate = Date(timeIntervalSince1970: 1_735_689_600)
  static let before = "Tue, 31 Dec 2024 23:59:59 GMT"
  static let after = "Thu, 02 Jan 2025 00:00:00 GMT"

  enum Body: Sendable, Equatable {
    case whole, none
    case part(Int64, Int64)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var method = "GET"
    var headers: [String]
    var status: Int
    var body: Body
    var etag: String?
    /// The response while the length is unknown, if it differs.
    var unknown: (Int, Body)?

    init(
      _ headers: [String], _ status: Int, _ body: Body, method: String = "GET",
      etag: String? = SemanticsTableTests.etag, unknown: (Int, Body)? = nil
    ) {
      self.headers = headers
      self.status = status
      self.body = body
      self.etag = etag
      self.method = method
      self.unknown = unknown
    }

    var testDescription: String { "\(method) \(headers)" }
  }

  private static let last = length - 1
  private static let whole: (Int, Body) = (200, .whole)

  private static func ranged(_ value: String, _ status: Int, _ body: Body) -> Row {
    Row(["Range: \(value)"], status, body, unknown: whole)
  }

  static let ranges: [Row] = [
    Row([], 200, .whole),
    Row([], 200, .none, method: "HEAD"),
    ranged("bytes=0-0", 206, .part(0, 0)),
    ranged("bytes=0-99", 206, .part(0, 99)),
    ranged("bytes=100-199", 206, .part(100, 199)),
    ranged("BYTES=100-199", 206, .part(100, 199)),
    ranged("Bytes=0-1", 206, .part(0, 1)),
    ranged("\t bytes=0-1 \t", 206, .part(0, 1)),
    ranged("bytes=000-001", 206, .part(0, 1)),
    ranged("bytes=19999-19999", 206, .part(last, last)),
    ranged("bytes=19999-", 206, .part(last, last)),
    ranged("bytes=15000-", 206, .part(15_000, last)),
    ranged("bytes=0-", 206, .part(0, last)),
    ranged("bytes=0-19999", 206, .part(0, last)),
    ranged("bytes=0-20000", 206, .part(0, last)),
    ranged("bytes=19990-99999999999999999999999", 206, .part(19_990, last)),
    ranged("bytes=19990-9223372036854775807", 206, .part(19_990, last)),
    ranged("bytes=-1", 206, .part(last, last)),
    ranged("bytes=-500", 206, .part(length - 500, last)),
    ranged("bytes=-20000", 206, .part(0, last)),
    ranged("bytes=-50000", 206, .part(0, last)),
    ranged("bytes=-99999999999999999999999", 206, .part(0, last)),
    ranged("bytes=-0", 416, .none),
    ranged("bytes=20000-", 416, .none),
    ranged("bytes=20000-200001", 416, .none),
    ranged("bytes=99999999999999999999999-", 416, .none),
    ranged("bytes=20000-20000", 416, .none),
    ranged("bytes=9223372036854775807-9223372036854775807", 416, .none),
    Row(["Range: bytes=0-9"], 200, .none, method: "HEAD"),
  ]

  /// Values that are ignored: invalid ones, and several ranges.
  static let ignoredRanges: [Row] = [
    "bytes=0-9,1000-1009", "bytes=0-9,400000-", "bytes=0-9,10-19", "bytes=,0-9,", "bytes= 0-9",
    "bytes=300000-400000,500000-",
    "bytes=" + (0..<200).map { "\($0 * 90)-\($0 * 90)" }.joined(separator: ","),
    "", "bytes", "bytes=", "bytes= ", "bytes=,", "bytes= , ,", "bytes=-", "bytes=a-b", "bytes=1",
    "bytes=5-4", "bytes=0-1,5-4", "bytes=0-1,x", "bytes=0 -1", "bytes=0- 1", "bytes =0-1",
    "items=0-5", "bytes:0-1", "bytes 0-5", "bytes=0-1-2", "bytes=--1", "bytes=+1-2",
    "bytes=0x10-0x20", "bytes=0-1;2-3", "bytes=٠-١", "none", "bytes=0-1, bytes=2-3", "byte=0-1",
    "bytes=1.0-2",
  ].map { ranged($0, 200, .whole) }

  static let conditions: [Row] = [
    Row(["If-None-Match: \(etag)"], 304, .none),
    Row(["If-None-Match: \(etag)"], 304, .none, method: "HEAD"),
    Row(["If-None-Match: W/\(etag)"], 304, .none),
    Row(["If-None-Match: \"x\", \(etag)"], 304, .none),
    Row(["If-None-Match: *"], 304, .none),
    Row(["if-none-match: \"x,y\",\(etag)"], 304, .none),
    Row(["If-None-Match: \"x\", W/\(etag)"], 304, .none),
    Row(["If-None-Match: \(etag)"], 304, .none, etag: "W/\(etag)"),
    Row(["If-None-Match: W/\(etag)"], 304, .none, etag: "W/\(etag)"),
    Row(["If-None-Match: \"x\", \"v1,\""], 200, .whole),
    Row(["If-None-Match: \"x\""], 200, .whole),
    Row(["If-None-Match: \"x\"", "If-Modified-Since: \(modified)"], 200, .whole),
    Row(["If-None-Match: \"x\"", "If-Modified-Since: \(after)"], 200, .whole),
    Row(["If-None-Match: \(etag)", "If-Modified-Since: \(before)"], 304, .none),
    Row(["If-None-Match: \(etag)", "Range: bytes=0-9"], 304, .none),
    Row(["If-Modified-Since: \(modified)"], 304, .none),
    Row(["If-Modified-Since: \(after)"], 304, .none),
    Row(["If-Modified-Since: Wednesday, 01-Jan-25 00:00:00 GMT"], 304, .none),
    Row(["If-Modified-Since: Wed Jan  1 00:00:00 2025"], 304, .none),
    Row(["If-Modified-Since: \(before)"], 200, .whole),
    Row(["if-modified-since: yesterday"], 200, .whole),
    Row(["If: x"], 200, .whole),
    Row(["If-Match: \(etag)"], 200, .whole),
    Row(["If-Match: \"x,\",\(etag)"], 200, .whole),
    Row(["If-Match: ,,\(etag),"], 200, .whole),
    Row(["If-Match: W/\"x\", \(etag)"], 200, .whole),
    Row(["If-Match: *"], 200, .whole, etag: nil),
    Row(["If-Match: \(etag)"], 412, .none, etag: nil),
    Row(["If-Match: W/\(etag)"], 412, .none, etag: "W/\(etag)"),
    Row(["If-Match: \"x,y\""], 200, .whole, etag: "\"x,y\""),
    Row(["If-Match: v1"], 412, .none),
    Row(["If-Match: "], 412, .none),
    Row(["If-Match: \"V1\""], 412, .none),
    Row(["If-Match: *"], 200, .whole),
    Row(["If-Match: \"x\", \(etag)"], 200, .whole),
    Row(["If-Match: \"x\""], 412, .none),
    Row(["If-Match: W/\(etag)"], 412, .none),
    Row(["If-Match: \(etag)", "If-None-Match: \(etag)"], 304, .none),
    Row(["If-Match: \"x\"", "If-None-Match: \(etag)"], 412, .none),
    Row(["If-Match: \(etag)", "If-Unmodified-Since: \(before)"], 200, .whole),
    Row(["If-Unmodified-Since: \(modified)"], 200, .whole),
    Row(["If-Unmodified-Since: Wednesday, 01-Jan-25 00:00:00 GMT"], 200, .whole),
    Row(["If-Unmodified-Since: Wed Jan  1 00:00:00 2025"], 200, .whole),
    Row(["If-Unmodified-Since: \(after)"], 200, .whole),
    Row(["If-Unmodified-Since: \(before)"], 412, .none),
    Row(["If-Unmodified-Since: nonsense"], 200, .whole),
    Row(["Range: bytes=5-9", "If-Range: \(etag)"], 206, .part(5, 9), unknown: whole),
    Row(["Range: bytes=5-9", "If-Range: \"x\""], 200, .whole),
    Row(["Range: bytes=5-9", "If-Range: W/\(etag)"], 200, .whole),
    Row(["Range: bytes=5-9", "If-Range: \(modified)"], 206, .part(5, 9), unknown: whole),
    Row(["Range: bytes=5-9", "If-Range: \(after)"], 200, .whole),
    Row(
      ["Range: bytes=5-9", "If-Range: Wednesday, 01-Jan-25 00:00:00 GMT"], 206, .part(5, 9),
      unknown: whole),
    Row(["Range: bytes=5-9", "If-Range: yesterday"], 200, .whole),
    Row(["Range: bytes=5-9", "If-Range: *"], 200, .whole),
    Row(["Range: bytes=5-9", "If-Range: \(etag), \"x\""], 200, .whole),
    Row(["Range: bytes=5-9", "If-Range: W/\(etag)"], 200, .whole, etag: "W/\(etag)"),
    Row(["Range: bytes=5-9", "If-Range: \"x\"", "If-None-Match: \(etag)"], 304, .none),
    Row(["Range: bytes=900000-", "If-Range: \"x\""], 200, .whole),
    Row(["Range: bytes=900000-", "If-Range: \(etag)"], 416, .none, unknown: whole),
    Row(["If-Range: \"x\""], 200, .whole),
    Row(["Range: bytes=5-9", "If-Match: \"x\""], 412, .none),
  ]

  enum State: String, CaseIterable { case cold, warm, half, unknown }

  @Test(arguments: State.allCases)
  func `Range requests follow RFC 9110`(state: State) async throws {
    try await check(Self.ranges + Self.ignoredRanges, state)
  }

  @Test(arguments: State.allCases)
  func `Conditional requests follow RFC 9110`(state: State) async throws {
    try await check(Self.conditions, state)
  }

  @Test func `Ranges of an empty resource`() async throws {
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 3, length: 0), at: "/empty")
      for round in 0..<2 {
        for range in ["0-", "0-0", "-1", "-0"] {
          let reply = try await test.get("/empty", ["Range: bytes=\(range)"])
          #expect(reply.status == 416, "\(range) in round \(round)")
        }
        #expect(try await test.get("/empty", ["Range: bytes=x"]).status == 200)
      }
    }
  }

  /// Modified in the second of its response, it may have changed within that (RFC 9110 §8.8.2.2).
  @Test func `If-Range does not accept a weak Last-Modified`() async throws {
    try await withProxy { test async throws in
      let now = Date().addingTimeInterval(3600)
      test.origin.serve(
        OriginResource(
          .synthetic(seed: 3, length: Self.length), lastModified: now,
          headers: [Field("Cache-Control", "max-age=600")]), at: "/a")
      for _ in 0..<2 {
        let fields = ["Range: bytes=5-9", "If-Range: \(HTTPDate.format(now))"]
        #expect(try await test.get("/a", fields).status == 200)
      }
    }
  }

  private func check(_ rows: [Row], _ state: State) async throws {
    try await withProxy(cache: {
      $0.firstRequest = 1 << 10
      $0.maximumReadAhead = 4 << 10
    }) { test in
      let bytes = SyntheticBytes(seed: 3).bytes(in: 0..<Self.length)
      for (index, row) in rows.enumerated() {
        let path = "/\(state)/\(index).mp3"
        var resource = OriginResource(
          .synthetic(seed: 3, length: Self.length), contentType: "audio/mpeg", etag: row.etag,
          lastModified: Self.modifiedDate,
          headers: [Field("Cache-Control", "max-age=600, x=\"y\"")])
        if state == .unknown {
          resource.declaresLength = false
          resource.supportsRanges = false
        }
        test.origin.serve(resource, at: path)
        switch state {
        case .cold: break
        case .warm: _ = try await test.get(path)
        case .half:
          _ = try await test.get(path, ["Range: bytes=1-1999"])
          _ = try await test.get(path, ["Range: bytes=12000-13999"])
        case .unknown:
          // The origin stops before the end, so that no other request finds the length.
          test.origin.script(path, .on(.all, .stall(at: .resource(Self.length - 1))))
        }
        let releasing = Task {
          guard state == .unknown else { return }
          try await test.origin.wait(for: path) { $0.stalled > 0 }
          test.origin.release(path)
        }
        let reply = try await test.get(path, row.headers, method: row.method)
        releasing.cancel()
        test.origin.script(path, FaultScript())
        test.origin.release(path)
        // If the bytes come only after the length is known, the response is as for a known length.
        let isUnknown = state == .unknown && reply.status != row.status
        let expected = isUnknown ? row.unknown ?? (row.status, row.body) : (row.status, row.body)
        try Self.check(
          reply, row, expected, bytes, isUnknown || reply.status == 200 ? state : .cold)
      }
    }
  }

  private static func check(
    _ reply: Reply, _ row: Row, _ expected: (status: Int, body: Body), _ bytes: [UInt8],
    _ state: State
  ) throws {
    let what: Comment = "\(state): \(row.method) \(row.headers)"
    #expect(reply.status == expected.status, what)
    #expect(reply.isComplete, what)
    let isError = reply.status >= 400
    if !isError {
      #expect(reply["ETag"] == row.etag, what)
      #expect(reply["Last-Modified"] == modified, what)
      #expect(reply["Cache-Control"] == "max-age=600, x=\"y\"", what)
      #expect(reply["Age"].flatMap { Int($0) } != nil, what)
      #expect(reply["Date"] != nil, what)
      #expect(reply["Cache-Status"]?.hasPrefix("refrain;") == true, what)
    }
    switch expected.body {
    case .whole:
      #expect(reply.body == bytes, what)
      #expect(reply["Content-Range"] == nil, what)
      #expect(reply["Content-Type"] == "audio/mpeg", what)
      if state == .unknown, reply["Content-Length"] == nil {
        #expect(reply["Transfer-Encoding"] == "chunked", what)
      } else {
        #expect(reply["Content-Length"] == "\(length)", what)
        #expect(reply["Accept-Ranges"] == "bytes", what)
      }
    case .none:
      if reply.status == 416, state != .unknown {
        #expect(reply["Content-Range"] == "bytes */\(length)", what)
      }
      if row.method == "HEAD" || reply.status == 304 { #expect(reply.body.isEmpty, what) }
      if row.method == "HEAD", reply.status == 200, state != .unknown {
        #expect(reply["Content-Length"] == "\(length)", what)
        #expect(reply["Accept-Ranges"] == "bytes", what)
      }
    case .part(let first, let last):
      #expect(reply["Content-Range"] == "bytes \(first)-\(last)/\(length)", what)
      #expect(reply["Content-Length"] == "\(last - first + 1)", what)
      #expect(reply["Content-Type"] == "audio/mpeg", what)
      #expect(reply.body == Array(bytes[Int(first)...Int(last)]), what)
    }
  }
}
