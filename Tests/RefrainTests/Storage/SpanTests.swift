// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Operations on sets of ranges, against a model with an element for every offset.
struct SpanTests {
  private func random(_ name: String) -> (UInt64, SeededGenerator) {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("\(name): seed \(seed)")
    return (seed, SeededGenerator(seed: seed))
  }

  @Test func `Span lookups agree with the model`() {
    var (seed, random) = random("lookingThingsUpInSpansAgreesWithTheModel")
    for _ in 0..<200 {
      var spans = RangeSet<Int64>()
      var model = [Bool](repeating: false, count: 64)
      for _ in 0..<Int.random(in: 0...8, using: &random) {
        let lower = Int.random(in: 0..<64, using: &random)
        let upper = Int.random(in: lower...64, using: &random)
        let adds = Int.random(in: 0..<3, using: &random) > 0
        for index in lower..<upper { model[index] = adds }
        let range = Int64(lower)..<Int64(upper)
        if adds { spans.insert(contentsOf: range) } else { spans.remove(contentsOf: range) }
      }
      #expect(spans.byteCount == Int64(model.count { $0 }), "seed \(seed)")
      for offset in 0..<70 {
        let isThere = offset < 64 && model[offset]
        let range = spans.range(containing: Int64(offset))
        #expect((range != nil) == isThere, "seed \(seed)")
        if let range {
          #expect(model[Int(range.lowerBound)..<Int(range.upperBound)].allSatisfy { $0 })
          #expect(range.lowerBound == 0 || !model[Int(range.lowerBound) - 1])
          #expect(range.upperBound == 64 || !model[Int(range.upperBound)])
        }
        let next = offset < 64 ? model[offset...].firstIndex(of: true) : nil
        #expect(spans.nextLowerBound(atOrAfter: Int64(offset)) == next.map(Int64.init))
        let end = Int.random(in: offset...70, using: &random)
        let count = model[min(offset, 64)..<min(end, 64)].count { $0 }
        #expect(spans.byteCount(in: Int64(offset)..<Int64(end)) == Int64(count), "seed \(seed)")
      }
    }
  }

  // MARK: Journals

  @Test func `A journal returns only the spans written since the last boot`() {
    var (seed, random) = random("aJournalGivesBackWhatWasWrittenInThisRunOfTheMachine")
    var journal = SpanJournal.header(bootIdentity: "this")
    #expect(journal.count == SpanJournal.recordSize)
    var spans = RangeSet<Int64>()
    for _ in 0..<100 {
      let lower = Int64.random(in: 0..<Int64.max - 1, using: &random)
      let range = lower..<Int64.random(in: lower + 1...Int64.max, using: &random)
      let record = SpanJournal.record(range)
      #expect(record.count == SpanJournal.recordSize)
      journal += record
      // A slot that was skipped because its record could not be written.
      journal += [UInt8](repeating: 0, count: SpanJournal.recordSize)
      spans.insert(contentsOf: range)
      // Half a record is ignored.
      let torn = SpanJournal.decode(journal + record.prefix(17), bootIdentity: "this")
      #expect(torn == spans, "seed \(seed)")
    }
    #expect(SpanJournal.decode(journal, bootIdentity: "that").isEmpty)
    #expect(SpanJournal.decode([], bootIdentity: "this").isEmpty)
  }

  @Test func `A journal's file name encodes its generation and epoch`() {
    let name = SpanJournal.fileName(generation: "1f", epoch: 7)
    #expect(SpanJournal.epoch(of: name, generation: "1f") == 7)
    #expect(SpanJournal.epoch(of: name, generation: "1") == nil)
    for name in ["1f-.spans", "1f--1.spans", "1f-9223372036854775807.spans", "1f-7", "1f.spans"] {
      #expect(SpanJournal.epoch(of: name, generation: "1f") == nil)
    }
  }

  // MARK: Bytes in memory

  @Test func `Bytes in memory agree with the model`() {
    var (seed, random) = random("bytesInMemoryAgreeWithTheModel")
    for _ in 0..<(TestSeed.isSoak ? 1000 : 20) {
      var transient = TransientBytes()
      var model = [UInt8?](repeating: nil, count: 200)
      for step in 0..<12 {
        let lower = Int.random(in: 0..<200, using: &random)
        let upper = Int.random(in: lower...200, using: &random)
        // Bytes already present stay as they are.
        let chunk = Data(repeating: UInt8(step), count: upper - lower)
        transient.insert(chunk, at: Int64(lower))
        for index in lower..<upper where model[index] == nil { model[index] = UInt8(step) }
        for offset in 0..<200 {
          let bytes = transient.bytes(at: Int64(offset))
          #expect(bytes?.first == model[offset], "seed \(seed)")
          #expect(transient.spans.contains(Int64(offset)) == (model[offset] != nil))
          for (index, byte) in (bytes ?? Data()).enumerated() {
            guard model[offset + index] == byte else {
              Issue.record("seed \(seed)")
              break
            }
          }
        }
      }
      let before = transient.spans
      transient.keep(near: [50..<60])
      #expect(transient.spans.subtracting(before).isEmpty)
      for offset in 50..<60 as Range<Int64> {
        #expect(transient.bytes(at: offset)?.first == model[Int(offset)], "seed \(seed)")
      }
      transient.keep(near: [])
      #expect(transient.isEmpty && transient.spans.isEmpty)
    }
  }

  // MARK: Names

  @Test func `Every key hashes to a distinct, safe entry name`() {
    var names: Set<String> = []
    let keys = [
      "", "/", "..", "../../etc/passwd", "http://h/a", "http://h/b", "\u{0}", "ä", "a\u{308}",
    ]
    for key in keys {
      let name = KeyHash.name(of: CacheKey(rawValue: key))
      #expect(name.wholeMatch(of: /[0-9a-f]{32}/) != nil)
      #expect(KeyHash.shard(of: name).utf8.count == 2)
      names.insert(name)
    }
    #expect(names.count == keys.count)
    // The offset basis and a published vector of 128-bit FNV-1a.
    #expect(KeyHash.name(of: CacheKey(rawValue: "")) == "6c62272e07bb014262b821756295c58d")
    #expect(KeyHash.name(of: CacheKey(rawValue: "a")) == "d228cb696f1a8caf78912b704e4a8964")
  }

  @Test func `Only plain names are accepted as file names`() {
    for name in ["a.wav", "1f-3.mp4", "0"] { #expect(EntryRecord.isPlainName(name)) }
    for name in [
      "", ".", "..", "../a", "/a", "a/b", ".a", "entry.json", "A", "a b", "a\u{0}",
      String(repeating: "a", count: 129),
    ] { #expect(!EntryRecord.isPlainName(name)) }
  }
}
