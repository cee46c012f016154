// SPDX-License-Identifier: MIT
import Refrain
@testable import RefrainStreams
import TestSupport
import Testing

/// The hash that is part of entity tags.
@Suite struct BodyHashTests {
  @Test func `Every byte, its place and the length count`() {
    let body = [UInt8]("#EXTM3U\n#EXTINF:4,\nsegment-1.ts\n".utf8)
    var hashes: Set<UInt64> = []
    for index in body.indices {
      for bit in 0..<8 {
        var changed = body
        changed[index] ^= 1 << bit
        hashes.insert(BodyHash.of(changed))
      }
      hashes.insert(BodyHash.of(Array(body[..<index])))
      hashes.insert(BodyHash.of(body + [UInt8](repeating: 0, count: index + 1)))
    }
    #expect(hashes.count == body.count * 10)
    var exchanged = body
    exchanged.swapAt(1, 30)
    let hash = BodyHash.of(exchanged)
    #expect(!hashes.contains(hash))
  }

  @Test func `Every bit of the hash depends on every byte`() {
    let body = [UInt8](repeating: 7, count: 41)
    for index in body.indices {
      var changes: UInt64 = 0
      for value in UInt8.min...UInt8.max {
        var changed = body
        changed[index] = value
        changes |= BodyHash.of(changed) ^ BodyHash.of(body)
      }
      #expect(changes == .max, "\(index)")
    }
  }

  @Test func `It is the same in every version of the program`() {
    // Clients that ask with a tag of an earlier version receive 304.
    #expect(BodyHash.of([]) == 0x24FB_90E3_B201_AA88)
    #expect(BodyHash.of(Array("#EXTM3U\n#EXTINF:4,\n".utf8)) == 0xFC31_FB6A_400F_019A)
  }
}
