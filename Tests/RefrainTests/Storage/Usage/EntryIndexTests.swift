// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// The entries that eviction considers.
@Suite(.timeLimit(.minutes(TestSeed.minutes(1)))) struct EntryIndexTests {
  private func entry(_ name: String, _ age: Double, _ size: Int64 = 4096) -> MeasuredEntry {
    .init(name: name, lastAccess: age, allocatedBytes: size)
  }

  @Test func `The index returns the oldest entries`() {
    var index = EntryIndex()
    #expect(index.allOldest() == [])
    for age in [3, 1, 4, 2] { index.note(entry("\(age)", Double(age))) }
    #expect(index.oldest(2).map(\.name) == ["2", "1"])
    #expect(index.allOldest() == ["1", "2", "3", "4"])
  }

  @Test func `The index follows entries that are used, opened, closed and removed`() {
    var index = EntryIndex()
    for age in 1...4 { index.note(entry("\(age)", Double(age))) }
    #expect(index.allOldest().first == "1")
    index.forget("1")
    index.open["2"] = CacheKey(rawValue: "")
    #expect(index.allOldest().first == "3")
    _ = index.touch("3", at: 10)
    index.note(entry("0", 0))
    index.open["2"] = nil
    #expect(index.allOldest() == ["0", "2", "4", "3"])
    for name in ["0", "2", "4"] { index.forget(name) }
    #expect(index.allOldest() == ["3"])
  }

  @Test func `An entry whose time is set back is found at its new place`() {
    var index = EntryIndex()
    for age in 1...4 { index.note(entry("\(age)", Double(10 * age))) }
    index.note(entry("3", 25))
    #expect(index.allOldest() == ["1", "2", "3", "4"])
  }

  @Test func `Entries that come and go between scans leave nothing behind`() {
    var index = EntryIndex()
    func comeAndGo() {
      for number in 0..<1000 {
        index.open["\(number)"] = CacheKey(rawValue: "")
        index.open["\(number)"] = nil
        index.note(entry("\(number)", Double(number)))
        index.forget("\(number)")
      }
    }
    comeAndGo()
    #expect(index.count == 0)
    index.note(entry("gone", 1))
    // A scan that has passed their shard has to know that they are there.
    index.beginScan()
    index.note(entry("new", 1))
    index.endScan(began: .now)
    #expect(index.allOldest() == ["new"])
    // A scan that is abandoned removes nothing.
    index.beginScan()
    comeAndGo()
    #expect(index.allOldest() == ["new"])
  }

  @Test func `After a scan that did not complete, an older entry goes first`() {
    var index = EntryIndex()
    for age in 1...3 { index.note(entry("\(age)", Double(age))) }
    index.beginScan()
    #expect(index.next(at: 0, except: [])?.name == "1")
    _ = index.leaveScan(nil)
    index.note(entry("0", 0))
    #expect(index.next(at: 0, except: [])?.name == "0")
  }

  /// Compares the index with a model that sorts all entries each time.
  @Test func `Under random changes, the index returns the oldest entries`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    var index = EntryIndex()
    var model: [String: MeasuredEntry] = [:]
    var open: Set<String> = []
    func put(_ name: String, _ age: Double) {
      model[name] = entry(name, age)
      index.note(entry(name, age))
    }
    // More than are sorted at once, some with the same time of use.
    for number in 0..<2600 { put("\(number)", Double(Int.random(in: 0..<1000, using: &random))) }
    for round in 0..<1000 {
      let name = "\(Int.random(in: 0..<2000, using: &random))"
      switch Int.random(in: 0..<8, using: &random) {
      case 0: put(name, Double(Int.random(in: 0..<2000, using: &random)))
      case 1:
        let time = index.touch(name, at: Double(round))
        model[name]?.lastAccess = time
      case 2:
        if open.insert(name).inserted { index.open[name] = CacheKey(rawValue: "") }
      case 3:
        if open.remove(name) != nil { index.open[name] = nil }
      default:
        let count = Int.random(in: 1...10, using: &random)
        let chosen = Array(index.oldest(count).reversed().prefix(count))
        let free = model.values.filter { !open.contains($0.name) }.sorted {
          $0.lastAccess < $1.lastAccess
        }
        #expect(chosen.allSatisfy { model[$0.name] == $0 && !open.contains($0.name) })
        #expect(Set(chosen.map(\.name)).count == chosen.count)
        #expect(chosen.isEmpty == free.isEmpty, "seed \(seed), round \(round)")
        // Compares ages: of two entries used at the same time, either may go.
        #expect(
          chosen.map(\.lastAccess) == free.prefix(chosen.count).map(\.lastAccess),
          "seed \(seed), round \(round)")
        for gone in chosen {
          model[gone.name] = nil
          index.forget(gone.name)
        }
      }
    }
  }
}

extension EntryIndex {
  /// Returns the names of all entries that may be evicted, the oldest first.
  func allOldest() -> [String] { oldest().reversed().map(\.name) }
}
