// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

struct UsageRecordTests {
  /// Grants `bytes` to a writer that has nothing else outstanding.
  private func grant(
    _ record: inout UsageRecord, _ bytes: Int64, to writer: UInt64, limit: Int64? = 1000
  ) -> Int64? {
    guard record.shortage(of: bytes, limit: limit) == 0 else { return nil }
    record.grant(bytes, to: writer, outstanding: bytes)
    return bytes
  }

  @Test func `The grants of all writers together stay within the limit`() {
    var record = UsageRecord(boot: 1)
    var accounts = [Account(), Account()]
    func reserve(_ bytes: Int64, for index: Int) -> Bool {
      accounts[index].reserve(bytes, quantum: 400, limit: 1000, from: &record)
    }
    #expect(reserve(100, for: 0) && reserve(100, for: 1))
    #expect(accounts.map(\.outstanding) == [400, 400] && record.used == 800)
    // There is no more room for a quantum, but there is for the bytes needed.
    #expect(reserve(400, for: 0))
    #expect(record.used == 900)
    #expect(!reserve(401, for: 1))
    #expect(record.shortage(of: 101, limit: 1000) == 1)
    record.used -= 1
    #expect(reserve(401, for: 1))
    #expect(record.used == 1000)
  }

  @Test func `Grants to a writer without a limit are unbounded, and count for others`() {
    var record = UsageRecord(boot: 1)
    #expect(grant(&record, 5000, to: 1, limit: nil) == 5000)
    #expect(grant(&record, 1, to: 2) == nil)
    record.used -= 4500
    record.grant(0, to: 1, outstanding: 0)
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
    record.used -= 60
    #expect(grant(&record, 60, to: 2, limit: limit) == nil)
    record.grant(-60, to: 1, outstanding: 0)
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
    record.used -= 200
    // It saw them before they were freed.
    record.endMeasurement(since: start, measured: 300)
    #expect(record.used == 100)
  }

  @Test func `A dead writer's grant counts until its bytes are measured`() {
    var record = UsageRecord(boot: 1, used: 300)
    _ = grant(&record, 200, to: 1)
    record.writers = [:]
    let start = record
    #expect(record.used == 500)
    record.endMeasurement(since: start, measured: 340)
    #expect(record.used == 340)
  }

  @Test func `A writer is dead once its process has ended`() {
    var record = UsageRecord(boot: 1)
    for _ in 0..<2 { record.grant(0, to: UsageRecord.newWriter(), outstanding: 1) }
    record.dropDeadWriters()
    #expect(record.writers.count == 2)
    // No process has that number; and an earlier process may have had this one's.
    record.grant(0, to: UInt64(Int32.max), outstanding: 1)
    record.grant(0, to: UInt64(getpid()), outstanding: 1)
    #expect(record.writers.count == 4)
    record.dropDeadWriters()
    #expect(record.writers.count == 2)
  }

  @Test func `Dead writers leave their places to others`() {
    var record = UsageRecord(boot: 1)
    for number in 1...UInt64(UsageRecord.mostWriters) {
      record.grant(0, to: number << 32 | UInt64(Int32.max), outstanding: 1)
    }
    let writer = UsageRecord.newWriter()
    record.grant(0, to: writer, outstanding: 1)
    #expect(record.writers == [writer: 1])
  }

  @Test func `Grants given back during a measurement do not count, also of an unknown usage`() {
    let mebibyte: Int64 = 1 << 20
    var record = UsageRecord(boot: 1, used: 900 * mebibyte, measurements: 0)
    let start = record
    for number in 0..<100 {
      var account = Account()
      let isGranted = account.reserve(96 << 10, quantum: 8 * mebibyte, limit: nil, from: &record)
      #expect(isGranted)
      account.entries["\(number)"] = (0, record.measurements)
      account.settle(64 << 10, actual: 64 << 10, for: "\(number)")
      #expect(account.entries["\(number)"]?.bytes == 64 << 10)
      account.close("\(number)", reserved: 32 << 10, size: 72 << 10, in: &record)
      #expect(account.outstanding == 0 && account.entries.isEmpty)
    }
    record.endMeasurement(since: start, measured: 900 * mebibyte)
    #expect(record.used == 900 * mebibyte + 100 * 72 << 10)
  }

  @Test func `Bytes written while an entry is measured stay counted`() {
    var record = UsageRecord(boot: 1)
    var account = Account()
    account.entries["a"] = (0, record.measurements)
    var before: Account.Counted?
    for growth in [300, 200] as [Int64] {
      let isGranted = account.reserve(growth, limit: nil, from: &record)
      #expect(isGranted)
      // Measured before the second write.
      before = account.entries["a"]
      account.settle(growth, actual: growth, for: "a")
    }
    #expect(before?.bytes == 300)
    // Removed down to 100 bytes.
    account.close("a", size: 100, since: before, isLast: false, in: &record)
    #expect(record.used == 300)
    account.close("a", size: 300, isLast: false, in: &record)
    #expect(record.used == 300)
    #expect(account.entries["a"]?.bytes == 300)
  }

  @Test func `A cache with open entries keeps at most one grant unused`() {
    var record = UsageRecord(boot: 1)
    var account = Account()
    for number in 0..<1000 {
      let isGranted = account.reserve(32 << 10, quantum: 8 << 20, limit: nil, from: &record)
      #expect(isGranted, "\(number)")
    }
    for number in 1..<1000 {
      account.entries["\(number)"] = (0, record.measurements)
      account.close("\(number)", reserved: 32 << 10, size: 12 << 10, in: &record)
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

extension Account {
  /// Settles an entry, by default without what is counted meanwhile.
  fileprivate mutating func close(
    _ name: String, reserved: Int64 = 0, size: Int64, since before: Counted? = nil,
    isLast: Bool = true, in record: inout UsageRecord
  ) {
    _ = conclude(
      name, reserved: reserved, size: size, since: before ?? entries[name], isLast: isLast,
      in: &record)
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
      if record.measurements == mark { record.used -= gone }
    case 4: accounts[index].report(to: &record)
    case 5:
      // Files that are being read are removed.
      let read = bytes(upTo: stored)
      let mark = record.measurements
      remove(read)
      held[index] += read
      interrupt()
      if record.measurements == mark { record.used -= read }
      _ = accounts[index].reserve(read, limit: nil, from: &record)
    case 6:
      // An entry with a reserve is opened, written and closed.
      guard accounts[index].reserve(64, limit: 2000, from: &record) else { return }
      accounts[index].entries["b"] = (0, record.measurements)
      let overhead = bytes(upTo: 64)
      write(overhead)
      interrupt()
      accounts[index].close("b", reserved: 64 + held[index], size: overhead, in: &record)
      held[index] = 0
    case 7:
      // Killed: nothing is read or written any more.
      guard Bool.random(using: &random) else { return }
      dead.insert(accounts[index].number)
      accounts[index] = Account()
      held[index] = 0
    default:
      if measurement == nil {
        for writer in dead { record.writers[writer] = nil }
        measurement = (record, 0, 0)
      } else {
        endMeasurement()
      }
    }
  }
}
