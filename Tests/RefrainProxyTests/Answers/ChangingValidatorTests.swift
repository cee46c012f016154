// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// Clients of an origin each of whose responses is of another version.
@Suite(.timeLimit(.minutes(1))) struct ChangingValidatorTests {
  private static let length: Int64 = 1_000_003
  private static let responses = 60

  /// - Parameter isTagged: whether each version has an ETag; otherwise each has another length.
  private func serve(_ test: TestProxy, isTagged: Bool) {
    var script = FaultScript()
    for number in 1...Self.responses {
      var resource = OriginResource.synthetic(
        seed: UInt64(number), length: Self.length + (isTagged ? 0 : Int64(number % 9) * 37))
      resource.contentType = "audio/mpeg"
      if !isTagged { resource.etag = nil }
      if number == 1 { test.origin.serve(resource, at: "/a") }
      script = script.on(.number(number), .answerFrom(resource), .ignoreIfRange)
    }
    test.origin.script("/a", script)
  }

  private func isOfOneVersion(_ reply: Reply, from offset: Int64) -> Bool {
    let (count, some) = (Int64(reply.body.count), Int64(min(16, reply.body.count)))
    return (1...Self.responses).contains {
      let bytes = SyntheticBytes(seed: UInt64($0))
      return bytes.bytes(in: offset..<offset + some) == Array(reply.body.prefix(Int(some)))
        && bytes.bytes(in: offset..<offset + count) == reply.body
    }
  }

  /// As ffmpeg reads a file: its beginning, its end, and on from near the beginning.
  @Test(arguments: [true, false])
  func `Each response to a client that seeks is complete`(_ isTagged: Bool) async throws {
    try await withProxy { test in
      serve(test, isTagged: isTagged)
      for range in ["0-999", "999000-999999", "1026-", "500000-", "0-", "700000-700999"] {
        let reply = try await test.get("/a", ["Range: bytes=\(range)"])
        let first = Int64(range.split(separator: "-")[0]) ?? 0
        #expect(reply.status == 206 && reply.isComplete, "\(range)")
        #expect(isOfOneVersion(reply, from: first), "\(range)")
      }
      let whole = try await test.get("/a")
      #expect(whole.status == 200 && whole.isComplete && isOfOneVersion(whole, from: 0))
      #expect(test.origin.log("/a").requests.count <= 6)
    }
  }

  @Test(arguments: [true, false])
  func `Concurrent clients receive one version each, and few requests are made`(
    _ isTagged: Bool
  ) async throws {
    try await withProxy { test in
      serve(test, isTagged: isTagged)
      for _ in 0..<4 {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<6 as Range<Int64> {
            group.addTask {
              let first = index * 150_000
              let reply = try await test.get("/a", ["Range: bytes=\(first)-"])
              // A response that has begun ends early when its version is replaced.
              #expect([206, 416].contains(reply.status))
              #expect(isOfOneVersion(reply, from: first))
            }
          }
          try await group.waitForAll()
        }
      }
      let reply = try await test.get("/a")
      #expect(reply.isComplete && isOfOneVersion(reply, from: 0))
      #expect(test.origin.log("/a").requests.count <= 16)
    }
  }

  @Test func `A file replaced under the same ETag is sent to a client that asks for it`()
    async throws
  {
    try await withProxy { test in
      func serve(_ seed: UInt64, _ length: Int64) {
        test.origin.serve(
          OriginResource(
            .synthetic(seed: seed, length: length), contentType: "audio/mpeg",
            headers: [Field("ETag", "\"0\""), Field("Cache-Control", "no-cache")]), at: "/a")
        test.origin.script("/a", .on(.all, .ignoreIfRange))
      }
      serve(1, 600_000)
      _ = try await test.get("/a")
      serve(2, 500_000)
      let reply = try await test.get("/a", ["Cache-Control: no-cache"])
      #expect(reply.status == 200)
      #expect(reply.body == SyntheticBytes(seed: 2).bytes(in: 0..<500_000))
    }
  }
}
