// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1)))
struct ChangedInformationTests {
  @Test func `A changed resource reports its new length`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 1, length: 1000), at: "/a.wav")
      _ = try await test.read("/a.wav")
      for length: Int64 in [2000, 3000] {
        test.origin.serve(.synthetic(seed: UInt64(length), length: length), at: "/a.wav")
        let reader = try await test.reader("/a.wav")
        defer { reader.cancel() }
        if length == 2000 {
          try await #expect(reader.contentInformation().length == length)
        } else {
          let known = try await onThread {
            try reader.contentInformationBlocking().length
          }
          #expect(known == length)
        }
      }
    }
  }
}
