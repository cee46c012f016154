// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

@Suite(.timeLimit(.minutes(1))) struct OfflineTests {
  private let length: Int64 = 1_000_003
  private let bytes = SyntheticBytes(seed: 7)

  @Test
  func `An offline cache reads stored bytes without requests and reports holes`() async throws {
    try await withCache { test in
      test.origin.serve(.synthetic(seed: 7, length: length), at: "/a")
      _ = try await test.read("/a", 200_000..<210_000)
      await test.cache.close()
      test.origin.resetLog("/a")
      try await test.reopened({ $0.offline = true }) { later in
        for fill in [FillPolicy.onDemand, .wholeResource] {
          let reader = try await later.reader("/a", fill: fill)
          defer { reader.cancel() }
          try await #expect(reader.contentInformation().length == length)
          let stored: ByteRange = 200_000..<210_000
          try await #expect(Array(reader.bytes(in: stored)) == bytes.bytes(in: stored))
          let error = await expectError(.offline) { try await reader.bytes(in: 0..<10) }
          #expect(error?.remedy.isEmpty == false)
          let unknown = try await later.reader("/other", fill: fill)
          defer { unknown.cancel() }
          await expectError(.offline) { try await unknown.contentInformation() }
        }
        await expectError(.offline) { try await later.cache.prefetch(later.origin.url("/a")) }
      }
      for path in ["/a", "/other"] { #expect(test.origin.log(path).requests.isEmpty) }
    }
  }
}
