// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// The pinned entries among those that eviction knows.
@Suite(.timeLimit(.minutes(1)))
struct PinIndexTests {
  private func entry(_ name: String, _ age: Double, pinned: Int64? = nil) -> MeasuredEntry {
    .init(name: name, lastAccess: age, allocatedBytes: 4096, pinnedBytes: pinned)
  }

  @Test func `Pinned entries are not selected, before and after they were candidates`() {
    var index = EntryIndex()
    index.note(entry("a", 1))
    index.note(entry("b", 2, pinned: 5000))
    index.note(entry("c", 3))
    #expect(index.allOldest() == ["a", "c"])
    index.note(entry("a", 1, pinned: 6000))
    #expect(index.allOldest() == ["c"])
    index.note(entry("b", 2))
    #expect(index.allOldest() == ["b", "c"])
    index.note(entry("a", 1))
    #expect(index.allOldest() == ["a", "b", "c"])
  }

  @Test func `Claims follow entries that are noted, forgotten and claimed`() {
    var index = EntryIndex()
    index.note(entry("a", 1, pinned: 100))
    index.note(entry("b", 1, pinned: 200))
    #expect(index.pinnedBytes(except: []) == 300)
    #expect(index.pinnedBytes(except: ["a"]) == 200)
    #expect(index.pinnedBytes(except: ["missing"]) == 300)
    index.note(entry("a", 1, pinned: 150))
    #expect(index.pinnedBytes(except: []) == 350)
    let isTooMuch = !index.claim(51, for: "c", within: 400)
    #expect(isTooMuch)
    #expect(index.pinnedBytes(except: []) == 350)
    let fits = index.claim(50, for: "c", within: 400)
    let replaces = index.claim(150, for: "a", within: 400)
    #expect(fits && replaces)
    #expect(index.pinnedBytes(except: []) == 400)
    index.forget("b")
    #expect(index.pinnedBytes(except: []) == 200)
    #expect(index.allOldest() == [])
    // Its mark is not made yet.
    index.note(entry("c", 1))
    #expect(index.pinnedBytes(except: []) == 200)
    // It could not be pinned.
    index.claims["c"] = nil
    index.note(entry("c", 1))
    #expect(index.pinnedBytes(except: []) == 150)
    #expect(index.allOldest() == ["c"])
  }

  @Test func `A scan drops the claims of entries that are gone`() {
    var index = EntryIndex()
    for name in ["gone", "found", "open"] { index.note(entry(name, 1, pinned: 100)) }
    index.open["open"] = CacheKey(rawValue: "")
    index.beginScan()
    index.note(entry("found", 1, pinned: 100))
    let fits = index.claim(100, for: "new", within: 1000)
    #expect(fits)
    index.endScan(began: .now)
    #expect(index.pinnedBytes(except: []) == 300)
    #expect(index.pinnedBytes(except: ["gone"]) == 300)
  }
}
