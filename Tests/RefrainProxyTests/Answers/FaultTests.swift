// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// For every fault of the origin: the right bytes, or a body that visibly ends early.
@Suite(.timeLimit(.minutes(TestSeed.minutes(3)))) struct FaultTests {
  private static let length: Int64 = 400_000

  private static let other = OriginContent.synthetic(seed: 99, length: length)

  static let faults: [(String, FaultScript)] = [
    ("drop", .on(.first(3), .drop(at: .body(1000)))),
    ("reset", .on(.first(3), .drop(at: .body(70_000), reset: true))),
    ("always drops", .on(.all, .drop(at: .resource(150_000)))),
    ("no answer", .on(.first(2), .closeWithoutAnswer)),
    ("never an answer", .on(.all, .closeWithoutAnswer)),
    ("garbage", .on(.first(2), .garbage(Array("SSH-2.0-nonsense\r\n\r\n".utf8)))),
    ("always garbage", .on(.all, .garbage(Array("nonsense\r\n\r\n".utf8)))),
    ("503", .on(.first(2), .unavailable(.seconds(0)))),
    ("always 500", .on(.all, .status(500))),
    ("404", .on(.all, .status(404))),
    ("short body", .on(.first(2), .truncatedBody(to: 500))),
    ("shorter than declared", .on(.first(2), .wrongContentLength(by: 1000))),
    ("longer than declared", .on(.first(2), .wrongContentLength(by: -1000))),
    ("extended", .on(.first(2), .extendedBody([1, 2, 3]))),
    ("wrong range", .on(.first(2), .wrongContentRange(start: 1, end: 1))),
    ("wrong total", .on(.from(2), .wrongContentRange(total: 5))),
    ("ignored range", .on(.all, .ignoreRange)),
    ("ignored range, later", .on(.from(2), .ignoreRange)),
    ("few at a time", .on(.all, .atMost(50_000))),
    ("gzip", .on(.first(1), .gzip)),
    ("multipart", .on(.first(1), .multipart)),
    ("chunked", .on(.all, .chunked)),
    ("to the close", .on(.all, .toTheClose)),
    ("no validators", .on(.all, .noValidators)),
    ("weak tag", .on(.all, .weakETag())),
    ("changed", .on(.from(3), .answerFrom(OriginResource(other, etag: "\"other\"")))),
    ("changed, nobody says", .on(.from(2), .answerFrom(OriginResource(other)))),
    ("redirected in a circle", .on(.all, .redirect(302, to: "/a"))),
    ("huge headers", .on(.first(1), .hugeHeaders(bytes: 300_000))),
  ]

  @Test(arguments: faults.map(\.0))
  func `No origin fault causes a wrong or silently truncated response`(name: String) async throws {
    let script = try #require(Self.faults.first { $0.0 == name }).1
    let versions = [1, 99].map { SyntheticBytes(seed: $0).bytes(in: 0..<Self.length) }
    try await withProxy { test in
      test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
      test.origin.script("/a", script)
      for range in [nil, 0..<10, 100_000..<250_000, 390_000..<400_000] as [Range<Int>?] {
        let headers = range.map { ["Range: bytes=\($0.lowerBound)-\($0.upperBound - 1)"] } ?? []
        let reply = try await test.get("/a", headers)
        try Self.check(reply, range, versions, name)
      }
    }
  }

  private static func check(
    _ reply: Reply, _ range: Range<Int>?, _ versions: [[UInt8]], _ name: String
  ) throws {
    let what: Comment = "\(name), \(String(describing: range)): \(reply.status) \(reply.body.count)"
    switch reply.status {
    case 200, 206:
      let wanted = reply.status == 206 ? try #require(range, what) : 0..<Int(length)
      let isRight = versions.contains { version in
        let all = version[wanted]
        return reply.isComplete
          ? areEqual(all, reply.body) : bytes(all, startWith: reply.body)
      }
      #expect(isRight, what)
    case 302 where name == "redirected in a circle":
      #expect(reply["Location"]?.hasSuffix("/a") == true, what)
    case 400..<600:
      #expect(reply.isComplete, what)
      #expect(!reply.body.isEmpty, what)
    default:
      Issue.record("an odd answer: \(reply.status) for \(name)")
    }
  }

  @Test func `Responses are complete and correct despite random origin faults`() async throws {
    let seed = TestSeed.next()
    print("FaultTests: REFRAIN_SEED=\(seed)")
    for round in 0..<(TestSeed.isSoak ? 200 : 6) as Range<UInt64> {
      try await withProxy(cache: { $0.retry.firstAttempts = 6 }) { test in
        let bytes = SyntheticBytes(seed: 1).bytes(in: 0..<Self.length)
        test.origin.serve(.synthetic(seed: 1, length: Self.length), at: "/a")
        // An error in the origin's first response is relayed.
        _ = try await test.get("/a", ["Range: bytes=0-0"])
        test.origin.script("/a", .random(seed: seed &+ round))
        try await withThrowingTaskGroup { group in
          for index in 0..<4 {
            group.addTask {
              let lower = index * 90_000
              let reply = try await test.get("/a", ["Range: bytes=\(lower)-"])
              #expect(reply.status == 206 && reply.isComplete, "seed \(seed &+ round)")
              #expect(areEqual(reply.body, bytes[lower...]), "seed \(seed &+ round)")
            }
          }
          try await group.waitForAll()
        }
      }
    }
  }
}
