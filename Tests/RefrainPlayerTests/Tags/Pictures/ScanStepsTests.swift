// SPDX-License-Identifier: MIT
import Testing

@testable import RefrainPlayer

/// The bytes that a scan reads next.
struct ScanStepsTests {
  private let limits = ScanLimits(
    firstStep: 100, step: 10, longestStep: 40, mostBytes: 200, mostSteps: 9)

  private func missing(_ range: Range<Int64>, isOptional: Bool = false) -> TagBytes.Missing {
    TagBytes.Missing(range: range, isOptional: isOptional)
  }

  @Test func `Parts in sequence are read in growing steps, and others in the smallest`() {
    var steps = ScanSteps(limits)
    var bytes = TagBytes(length: 1000)
    #expect(steps.first(isStored: true) == 0..<100)
    bytes.add([UInt8](repeating: 1, count: 100), at: 0)
    var reads: [Range<Int64>] = []
    for range: Range<Int64> in [98..<102, 119..<121, 158..<162, 600..<601] {
      guard
        let next = steps.next(
          for: missing(range), in: bytes, stored: RangeSet(), mayRequest: true)
      else { break }
      reads.append(next)
      bytes.add(
        [UInt8](repeating: 1, count: Int(next.upperBound - next.lowerBound)), at: next.lowerBound)
    }
    #expect(reads == [100..<120, 120..<160, 160..<200, 600..<610])
  }

  @Test func `Of stored bytes no others are read with them, and none are counted`() {
    var steps = ScanSteps(limits)
    let stored = RangeSet<Int64>(500..<505)
    for _ in 0..<50 {
      let next = steps.next(
        for: missing(500..<502, isOptional: true), in: TagBytes(length: 1000), stored: stored,
        mayRequest: false)
      #expect(next == 500..<505)
    }
  }

  @Test func `Requests are bounded, and not made for what is optional`() {
    var steps = ScanSteps(limits)
    let bytes = TagBytes(length: 1000)
    #expect(steps.first(isStored: false) == 0..<100)
    func next(
      _ range: Range<Int64>, isOptional: Bool = false, mayRequest: Bool = true
    ) -> Range<Int64>? {
      steps.next(
        for: missing(range, isOptional: isOptional), in: bytes, stored: RangeSet(),
        mayRequest: mayRequest)
    }
    #expect(next(200..<210, isOptional: true) == nil)
    #expect(next(200..<210, mayRequest: false) == nil)
    #expect(next(200..<301) == nil)
    #expect(next(200..<300) == 200..<300)
    #expect(next(400..<401) == nil)
  }

  @Test func `A length near the largest number is no problem`() {
    var steps = ScanSteps(limits)
    let next = steps.next(
      for: missing((.max - 3)..<(.max - 1)), in: TagBytes(length: .max), stored: RangeSet(),
      mayRequest: true)
    #expect(next == (Int64.max - 3)..<Int64.max)
  }
}
