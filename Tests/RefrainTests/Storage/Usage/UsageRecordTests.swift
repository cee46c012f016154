// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

struct UsageRecordTests {
  /// Grants `bytes` to a writer that has nothing else outstanding.
  private func grant(
    _ record: inout UsageRecord, _ bytes: Int64, to writer: UInt64, quantum: Int64 = 0,
    limit: Int64? = 1000
  ) -> Int64? {
    let granted = record.grant(bytes, quantum: quantum, limit: limit)
    if let granted { record.note(.init(id: writer, process: 10, outstanding: granted)) }
    return granted
  }

  @Test func `The grants of all writers together stay within the limit`() {
    var record = UsageRecord(boot: 1)
    #expect(grant(&record, 100, to: 1, quantum: 400) == 400)
    #expect(grant(&record, 100, to: 2, quantum: 400) == 400)
    #expect(record.used == 800)
    // There is no more room for a quantum, but there is for the bytes needed.
    #expect(grant(&record, 100, to: 1, quantum: 400) == 100)
    #expect(grant(&record, 101, to: 2) == nil)
    #expect(record.shortage(of: 101, limit: 1000) == 1)
    record.free(1)
    #expect(grant(&record, 101, to: 2) == 101)
    #expect(record.used == 1000)
  }

  @Test func `Grants to a writer without a limit are unbounded, and count for others`() {
    var record = UsageRecord(boot: 1)
    #expect(grant(&record, 5000, to: 1, limit: nil) == 5000)
    #expect(grant(&record, 1, to: 2) == nil)
    record.free(4500)
    record.note(.init(id: 1, process: 10, outstanding: 0))
    #expect(record.used == 500)
    #expect(record.writers.isEmpty)
    #expect(grant(&record, 1, to: 2) == 1)
  }

  @Test func `Only small grants are made before the usage is measured`() {
    let limit: Int64 = 1600
    var record = UsageRecord(boot: 1, measurements: 0)
    #expect(grant(&record, 60, to: 1, limit: limit) == 60)
    #expect(grant(&record, 60, to: 2, limit: limit) == nil)
    // Grants given back unwritten make room for others, bytes that are freed do not.
    record.free(60)
    #expect(grant(&record, 60, to: 2, limit: limit) == nil)
    record.ungrant(60)
    #expect(grant(&record, 60, to: 2, limit: limit) == 60)
    let start = record
    record.endMeasurement(since: start, measured: 100)
    #expect(record.isMeasured)
    #expect(grant(&record, 1000, to: 1, limit: limit) == 1000)
  }

  @Test func `A measurement counts bytes written while it runs`() {
    for measurements in [0, 1] as [Int64] {
      var record = UsageRecord(boot: 1, used: 300, measurements: measurements)
      // Of these, 100 are on disk when the measurement begins.
      _ = grant(&record, 200, to: 1, limit: nil)
      let start = record
      _ = grant(&record, 50, to: 2, limit: nil)
      // For any part that the measurement saw: 300 were there, and 100 to 250 more.
      for seen in stride(from: 400, through: 550, by: 50) as StrideThrough<Int64> {
        var checked = record
        checked.endMeasurement(since: start, measured: seen)
        #expect(checked.used >= 550)
      }
    }
  }

  @Test func `A measurement does not count bytes twice that are known to be counted`() {
    var record = UsageRecord(boot: 1, used: 300)
    let start = record
    _ = grant(&record, 50, to: 1)
    // It saw all of them, and cannot know.
    record.endMeasurement(since: start, measured: 350)
    #expect(record.used == 350)
    #expect(record.measurements == 1)
    // Somebody has removed files by hand, or added some.
    for measured in [100, 700] as [Int64] {
      var other = record
      other.endMeasurement(since: record, measured: measured)
      #expect(other.used == measured + 50)
      #expect(other.measurements == 2)
    }
  }

  @Test func `Bytes freed during a measurement do not come back`() {
    var record = UsageRecord(boot: 1, used: 300)
    let start = record
    record.free(200)
    // It saw them before they were freed.
    record.endMeasurement(since: start, measured: 300)
    #expect(record.used == 100)
  }

  @Test func `A dead writer's grant counts until its bytes are measured`() {
    var record = UsageRecord(boot: 1, used: 300)
    _ = grant(&record, 200, to: 1)
    record.beginMeasurement { $0.id == 1 }
    #expect(record.writers.isEmpty)
    let start = record
    #expect(record.used == 500)
    record.endMeasurement(since: start, measured: 340)
    #expect(record.used == 340)
  }

  @Test func `A writer is dead once its process has ended`() {
    let own = Int64(ProcessInfo.processInfo.processIdentifier)
    var record = UsageRecord(boot: 1)
    record.note(.init(id: UsageRecord.Writer.makeID(), process: own, outstanding: 1))
    record.beginMeasurement()
    #expect(record.writers.count == 1)
    // No process has that number; and an earlier process may have had this one's.
    record.note(.init(id: 7, process: Int64(Int32.max), outstanding: 1))
    record.note(.init(id: 8, process: own, outstanding: 1))
    #expect(record.writers.count == 3)
    record.beginMeasurement()
    #expect(record.writers.count == 1)
  }

  @Test func `Dead writers leave their places to others`() {
    var record = UsageRecord(boot: 1)
    for id in 1...UInt64(UsageRecord.mostWriters) {
      record.note(.init(id: id, process: Int64(Int32.max), outstanding: 1))
    }
    let own = Int64(ProcessInfo.processInfo.processIdentifier)
    let writer = UsageRecord.Writer(
      id: UsageRecord.Writer.makeID(), process: own, outstanding: 1)
    record.note(writer)
    #expect(record.writers == [writer])
  }

  @Test func `Grants given back during a measurement do not count, also of an unknown usage`() {
    let mebibyte: Int64 = 1 << 20
    var record = UsageRecord(boot: 1, used: 900 * mebibyte, measurements: 0)
    let start = record
    for number in 0..<100 {
      var account = Account()
      let isGranted = account.reserve(96 << 10, quantum: 8 * mebibyte, limit: nil, from: &record)
      #expect(isGranted)
      account.settle(64 << 10, actual: 64 << 10, for: "\(number)")
      let counted = account.takeGrowth(of: "\(number)")
      #expect(counted == 64 << 10)
      account.conclude(
        reserved: 32 << 10, actual: (72 << 10) - counted, isCounted: true, in: &record)
      #expect(account.outstanding == 0)
    }
    record.endMeasurement(since: start, measured: 900 * mebibyte)
    #expect(record.used == 900 * mebibyte + 100 * 72 << 10)
  }

  @Test func `Bytes written while an entry is measured stay counted`() {
    var record = UsageRecord(boot: 1)
    var account = Account()
    var counted: Int64 = 0
    for growth in [300, 200] as [Int64] {
      let isGranted = account.reserve(growth, limit: nil, from: &record)
      #expect(isGranted)
      // Measured before the second write.
      counted = account.takeGrowth(of: "a")
      account.settle(growth, actual: growth, for: "a")
    }
    #expect(counted == 300)
    // Removed down to 100 bytes.
    account.conclude(reserved: 0, actual: 100 - counted, isCounted: true, in: &record)
    #expect(record.used == 300)
    counted = account.takeGrowth(of: "a")
    account.conclude(reserved: 0, actual: 200 - counted, isCounted: true, in: &record)
    #expect(record.used == 300)
    #expect(account.takeGrowth(of: "a") == 0)
  }

  @Test func `A cache with open entries keeps at most one grant unused`() {
    var record = UsageRecord(boot: 1)
    var account = Account()
    for number in 0..<1000 {
      let isGranted = account.reserve(32 << 10, quantum: 8 << 20, limit: nil, from: &record)
      #expect(isGranted, "\(number)")
    }
    for _ in 1..<1000 {
      account.conclude(reserved: 32 << 10, actual: 12 << 10, isCounted: true, in: &record)
      #expect(account.allowance <= 8 << 20)
    }
    #expect(record.used == 999 * 12 << 10 + account.outstanding)
  }

  @Test func `Random operations keep the count at or above the bytes on disk`() {
    let seed = TestSeed.next()
    for round in 0..<500 {
      var life = RandomLife(seed: seed &+ UInt64(round))
      for step in 0..<80 {
        life.step()
        guard life.isCounted else {
          Issue.record("seed \(seed), round \(round), step \(step): \(life)")
          return
        }
      }
    }
  }

  @Test func `A usage record decodes as it was encoded`() {
    var record = UsageRecord(boot: 1, used: 5, granted: 7, measurements: 4)
    _ = grant(&record, 3, to: 1, limit: nil)
    #expect(UsageRecord.decode(record.encoded()) == record)
    // Remains of an earlier, longer record do no harm.
    #expect(UsageRecord.decode(record.encoded() + [1, 2, 3, 4, 5, 6, 7, 8]) == record)
  }

  @Test func `A damaged usage record is refused`() {
    var record = UsageRecord(boot: 1, used: 5)
    _ = grant(&record, 3, to: 1, limit: nil)
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

/// Three caches that write, free and measure in random order, some of which are killed.
private struct RandomLife {
  var random: SeededGenerator
  var record = UsageRecord(boot: 1)
  var accounts = (0..<3).map { _ in Account() }
  /// The bytes of entries on disk.
  var stored: Int64 = 0
  /// Bytes of removed files that somebody still reads, by account.
  var held: [Int64] = [0, 0, 0]
  /// A running measurement, and the bytes that it may have missed, or seen before they went.
  var measurement: (start: UsageRecord, missed: Int64, gone: Int64)?
  /// Accounts whose process was killed.
  var dead: Set<UInt64> = []

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  var isCounted: Bool {
    let outstanding = accounts.reduce(0) { $0 + $1.outstanding }
    return record.used >= stored + outstanding && stored + held.reduce(0, +) <= 2000
  }

  private mutating func bytes(upTo most: Int64) -> Int64 {
    Int64.random(in: 0...max(0, most), using: &random)
  }

  private mutating func write(_ bytes: Int64) {
    stored += bytes
    measurement?.missed += bytes
  }

  private mutating func remove(_ bytes: Int64) {
    stored -= bytes
    measurement?.gone += bytes
  }

  private mutating func endMeasurement() {
    guard let (start, missed, gone) = measurement.take() else { return }
    let seen = Int64.random(in: max(0, stored - missed)...stored + gone, using: &random)
    record.endMeasurement(since: start, measured: seen)
  }

  /// Sometimes ends a measurement between two steps of one operation.
  private mutating func interrupt() {
    if Bool.random(using: &random) { endMeasurement() }
  }

  mutating func step() {
    let index = Int.random(in: 0..<3, using: &random)
    switch Int.random(in: 0..<9, using: &random) {
    case 0, 1:
      let wanted = bytes(upTo: 200)
      guard accounts[index].reserve(wanted, quantum: 100, limit: 2000, from: &record) else {
        return
      }
      let written = bytes(upTo: wanted)
      write(written)
      interrupt()
      accounts[index].settle(wanted, actual: written, for: "a")
    case 2, 3:
      // An entry that is not open is evicted.
      let mark = record.measurements
      let gone = bytes(upTo: stored)
      remove(gone)
      interrupt()
      if record.measurements == mark { record.free(gone) }
    case 4: accounts[index].report(to: &record)
    case 5:
      // Files that are being read are removed.
      let read = bytes(upTo: stored)
      let mark = record.measurements
      remove(read)
      held[index] += read
      interrupt()
      if record.measurements == mark { record.free(read) }
      _ = accounts[index].reserve(read, limit: nil, from: &record)
    case 6:
      // An entry with a reserve is opened, written and closed.
      let mark = record.measurements
      guard accounts[index].reserve(64, limit: 2000, from: &record) else { return }
      let overhead = bytes(upTo: 64)
      write(overhead)
      interrupt()
      accounts[index].conclude(
        reserved: 64 + held[index], actual: overhead,
        isCounted: record.measurements == mark, in: &record)
      held[index] = 0
    case 7:
      // Killed: nothing is read or written any more.
      guard Bool.random(using: &random) else { return }
      dead.insert(accounts[index].id)
      accounts[index] = Account()
      held[index] = 0
    default:
      if measurement == nil {
        record.beginMeasurement { [dead] in dead.contains($0.id) }
        measurement = (record, 0, 0)
      } else {
        endMeasurement()
      }
    }
  }
}
