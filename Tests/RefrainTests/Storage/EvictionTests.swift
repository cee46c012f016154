// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

struct EvictionTests {
  private func candidate(_ name: String, _ age: Double, _ size: Int64) -> Eviction.Candidate {
    .init(name: name, lastAccess: age, allocatedBytes: size)
  }

  @Test func `Nothing is evicted without a need or without candidates`() {
    #expect(Eviction.plan([candidate("a", 1, 100)], toFree: 0).isEmpty)
    #expect(Eviction.plan([candidate("a", 1, 100)], toFree: -5).isEmpty)
    #expect(Eviction.plan([], toFree: 100).isEmpty)
  }

  @Test func `The least recently used entry is evicted first`() {
    let steps = Eviction.plan(
      [candidate("new", 3, 100), candidate("old", 1, 100), candidate("middle", 2, 100)],
      toFree: 150)
    #expect(steps.map(\.name) == ["old", "middle"])
    #expect(steps.allSatisfy { $0.removesAll && $0.bytes == 100 })
  }

  @Test func `Entries with the same access time are evicted in order of name`() {
    let steps = Eviction.plan([candidate("b", 1, 100), candidate("a", 1, 100)], toFree: 100)
    #expect(steps.map(\.name) == ["a"])
  }

  @Test func `A large entry is shortened if most of it can stay`() {
    let steps = Eviction.plan([candidate("a", 1, 8 << 20)], toFree: 1 << 20)
    #expect(steps == [.init(name: "a", bytes: 1 << 20, removesAll: false, lastAccess: 1)])
    let most = Eviction.plan([candidate("a", 1, 8 << 20)], toFree: 5 << 20)
    #expect(most == [.init(name: "a", bytes: 8 << 20, removesAll: true, lastAccess: 1)])
  }

  @Test func `Every plan frees the requested bytes if the entries suffice`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("everyPlanFreesWhatIsWantedWhereItCan: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let candidates = (0..<Int.random(in: 0...20, using: &random)).map {
        candidate(
          "\($0)", Double(Int.random(in: 0...5, using: &random)),
          .random(in: 0...5 << 20, using: &random))
      }
      let wanted = Int64.random(in: 0...20 << 20, using: &random)
      let steps = Eviction.plan(candidates, toFree: wanted)
      let all = candidates.reduce(0) { $0 + $1.allocatedBytes }
      let freed = steps.reduce(0) { $0 + $1.bytes }
      #expect(freed >= min(wanted, all), "seed \(seed)")
      #expect(Set(steps.map(\.name)).count == steps.count)
      #expect(steps.dropLast().allSatisfy { $0.removesAll })
      // No remaining entry was used before an evicted one.
      let gone = Set(steps.map(\.name))
      let last = candidates.filter { gone.contains($0.name) }.map(\.lastAccess).max() ?? 0
      #expect(candidates.filter { !gone.contains($0.name) }.allSatisfy { $0.lastAccess >= last })
    }
  }
}
