// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

struct UsageRecordTests {
  private let one = (id: UInt64(1), process: Int64(10))
  private let two = (id: UInt64(2), process: Int64(20))

  private func grant(
    _ record: inout UsageRecord, _ bytes: Int64, to writer: (id: UInt64, process: Int64),
    quantum: Int64 = 0, limit: Int64? = 1000, freed: Int64 = 0, left: Int64 = 0
  ) -> Int64? {
    record.grant(bytes, quantum: quantum, to: writer, limit: limit, freed: freed, left: left)
  }

  @Test func `The grants of all writers together stay within the limit`() {
    var record = UsageRecord(bootIdentity: "run")
    #expect(grant(&record, 100, to: one, quantum: 400) == 400)
    #expect(grant(&record, 100, to: two, quantum: 400) == 400)
    #expect(record.used == 800)
    // There is no more room for a quantum, but there is for the bytes needed.
    #expect(grant(&record, 100, to: one, quantum: 400, left: 100) == 100)
    #expect(grant(&record, 101, to: two) == nil)
    #expect(record.shortage(of: 101, limit: 1000) == 1)
    #expect(grant(&record, 101, to: two, freed: 1) == 101)
    #expect(record.used == 1000)
  }

  @Test func `Grants to a writer without a limit are unbounded, and count for others`() {
    var record = UsageRecord(bootIdentity: "run")
    #expect(grant(&record, 5000, to: one, limit: nil) == 5000)
    #expect(grant(&record, 1, to: two) == nil)
    record.giveBack(4500, by: one, left: 0)
    #expect(record.used == 500)
    #expect(record.writers.isEmpty)
    #expect(grant(&record, 1, to: two) == 1)
  }

  @Test func `Only small grants are made before the usage is measured`() {
    let limit: Int64 = 1600
    var record = UsageRecord(unchecked: 0, bootIdentity: "run")
    #expect(grant(&record, 60, to: one, limit: limit) == 60)
    #expect(grant(&record, 60, to: two, limit: limit) == nil)
    // The bytes that a process itself freed are known to it.
    #expect(grant(&record, 60, to: two, limit: limit, freed: 60) == 60)
    let start = record.beginCheck(dead: [])
    record.endCheck(start, measured: 100, at: 5)
    #expect(record.unchecked == nil)
    #expect(grant(&record, 1000, to: one, limit: limit) == 1000)
  }

  @Test func `A measurement counts bytes written while it runs`() {
    var record = UsageRecord(used: 300, bootIdentity: "run")
    // Of these, 100 are on disk when the measurement begins.
    _ = grant(&record, 200, to: one)
    let start = record.beginCheck(dead: [])
    _ = grant(&record, 50, to: two, left: 0)
    // For any part that the measurement saw: 300 were there, and 100 to 250 more.
    for seen in stride(from: 400, through: 550, by: 50) as StrideThrough<Int64> {
      var checked = record
      checked.endCheck(start, measured: seen, at: 1)
      #expect(checked.used >= 550)
    }
  }

  @Test func `A measurement does not count bytes twice that are known to be counted`() {
    var record = UsageRecord(used: 300, bootIdentity: "run")
    let start = record.beginCheck(dead: [])
    _ = grant(&record, 50, to: one)
    // It saw all of them, and cannot know.
    record.endCheck(start, measured: 350, at: 1)
    #expect(record.used == 350)
    // Somebody has removed files by hand, or added some.
    for measured in [100, 700] as [Int64] {
      var other = record
      other.endCheck(other.beginCheck(dead: []), measured: measured, at: 2)
      #expect(other.used == measured + 50)
    }
  }

  @Test func `Granted bytes that are never written do not stay counted`() {
    var record = UsageRecord(used: 300, bootIdentity: "run")
    _ = grant(&record, 200, to: one)
    let start = record.beginCheck(dead: [])
    record.giveBack(200, by: one, left: 0)
    record.endCheck(start, measured: 300, at: 1)
    #expect(record.used == 300)
  }

  @Test func `A dead writer's grant counts until its bytes are measured`() {
    var record = UsageRecord(used: 300, bootIdentity: "run")
    _ = grant(&record, 200, to: one)
    let start = record.beginCheck(dead: [1])
    #expect(record.used == 500)
    record.endCheck(start, measured: 340, at: 1)
    #expect(record.used == 340)
    #expect(record.writers.isEmpty)
  }

  @Test func `Random operations keep the count at or above the bytes on disk`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("A random life keeps the count above what is there: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      var record = UsageRecord(bootIdentity: "run")
      var accounts = (0..<3).map { _ in Account() }
      var real: Int64 = 0
      // Bytes removed and still held since a measurement began, which may have seen them.
      var hidden: Int64 = 0
      var check: UsageRecord.CheckStart?
      // Bytes that a running measurement may miss.
      var written: Int64 = 0
      for _ in 0..<80 {
        let index = Int.random(in: 0..<3, using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
          let bytes = Int64.random(in: 1...200, using: &random)
          if accounts[index].reserve(
            bytes, from: &record, quantum: 100, limit: 2000, process: 1)
          {
            let taken = Int64.random(in: 0...bytes, using: &random)
            real += taken
            written += taken
            // Sometimes a measurement ends between writing and settling.
            if Bool.random(using: &random) {
              accounts[index].settle(bytes, actual: taken, for: "a")
            } else {
              Self.end(&check, &record, real, written, hidden, &random)
              accounts[index].settle(bytes, actual: taken, for: "a")
            }
          }
        case 2, 3:
          let mark = accounts[index].lastCheck
          let gone = Int64.random(in: 0...real, using: &random)
          real -= gone
          // Sometimes a measurement ends before that is recorded, and something else is reported.
          if Bool.random(using: &random) {
            Self.end(&check, &record, real, written, hidden, &random)
            accounts[index].report(to: &record, process: 1)
          }
          accounts[index].addFreed(gone, since: mark)
        case 4: accounts[index].report(to: &record, process: 1)
        case 5:
          let mark = accounts[index].lastCheck
          let gone = Int64.random(in: 0...real, using: &random)
          real -= gone
          hidden += gone
          // Sometimes a measurement ends between removing and reporting.
          if Bool.random(using: &random) {
            Self.end(&check, &record, real, written, hidden, &random)
            accounts[index].report(to: &record, process: 1)
          }
          accounts[index].credit("b", freed: 0, held: gone, since: mark)
          accounts[index].report(to: &record, process: 1)
        case 6:
          let mark = accounts[index].lastCheck
          accounts[index].conclude("b", reserved: 0, growth: nil, isClosed: true, since: mark)
        default:
          if check == nil {
            check = record.beginCheck(dead: [])
            written = 0
            hidden = 0
          } else {
            Self.end(&check, &record, real, written, hidden, &random)
          }
        }
        let outstanding = accounts.reduce(0) { $0 + $1.outstanding }
        guard record.used >= real + outstanding, real <= 2000 else {
          Issue.record("seed \(seed): \(real) + \(outstanding) are counted as \(record.used)")
          return
        }
      }
    }
  }

  private static func end(
    _ check: inout UsageRecord.CheckStart?, _ record: inout UsageRecord, _ real: Int64,
    _ written: Int64, _ hidden: Int64, _ random: inout SeededGenerator
  ) {
    guard let start = check.take() else { return }
    let least = max(0, real - written)
    record.endCheck(start, measured: Int64.random(in: least...real + hidden, using: &random), at: 1)
  }

  @Test func `A usage record decodes as it was encoded`() {
    var record = UsageRecord(
      used: 5, granted: 7, returned: 1, unchecked: 9, checkedAt: 12.5, bootIdentity: "run")
    _ = record.grant(3, quantum: 9, to: one, limit: nil, freed: 0, left: 0)
    #expect(UsageRecord.decode(record.encoded()) == record)
    record.unchecked = nil
    // Remains of an earlier, longer record do no harm.
    #expect(UsageRecord.decode(record.encoded() + [1, 2, 3, 4, 5, 6, 7, 8]) == record)
  }

  @Test func `A damaged usage record is refused`() {
    var record = UsageRecord(used: 5, bootIdentity: "run")
    _ = record.grant(3, quantum: 9, to: one, limit: nil, freed: 0, left: 0)
    let bytes = record.encoded()
    #expect(UsageRecord.decode([]) == nil)
    for index in bytes.indices {
      var damaged = bytes
      damaged[index] ^= 0x10
      #expect(UsageRecord.decode(damaged) == nil, "byte \(index)")
      #expect(UsageRecord.decode(Array(bytes[..<index])) == nil, "cut at \(index)")
    }
  }
}
