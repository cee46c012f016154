// SPDX-License-Identifier: MIT

import OriginServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct RandomScriptTests {
  /// A client that requests missing bytes again receives everything.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func `A client that resumes receives every byte under a random script`(
    _ seed: UInt64
  ) async throws {
    try await OriginServer.with { origin in
      let length: Int64 = 300_000
      origin.serve(.synthetic(seed: 1, length: length), at: "/a")
      origin.script("/a", .random(seed: seed))
      var received: [UInt8] = []
      var fruitless = 0
      var requests = 0
      while received.count < length {
        requests += 1
        let start = received.count
        let reply = try await get(origin, "/a", ["Range: bytes=\(start)-"])
        if reply.status == 206 { received += reply.body }
        if reply.status == 200 { received += reply.body.dropFirst(start) }
        fruitless = received.count == start ? fruitless + 1 : 0
        try #require(fruitless <= 1)
        try #require(requests <= 13)
      }
      #expect(received == SyntheticBytes(seed: 1).bytes(in: 0..<length))
    }
  }

  @Test func `The same seed gives the same script`() {
    let (one, two) = (FaultScript.random(seed: 5), FaultScript.random(seed: 5))
    #expect("\(one)" == "\(two)")
    #expect("\(one)" != "\(FaultScript.random(seed: 6))")
    #expect(!one.rules.isEmpty)
  }
}
