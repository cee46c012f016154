// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain

  /// The readers of one item, one for each time that its stream was opened or interrupted, and
  /// their statistics.
  ///
  /// Only the readers in use are kept, besides the first and the last one: an item may be
  /// interrupted by a thousand seeks.
  struct StreamReadings: Sendable {
    private struct Reading {
      let reader: MediaReader
      var isOver = false
    }

    private var readings: [Reading] = []
    /// The bytes read by readers that are no longer kept, and those of them that were stored.
    private var bytesReadBefore: Int64 = 0
    private var spansBefore = RangeSet<Int64>()

    var readers: [MediaReader] { readings.map(\.reader) }
    var last: MediaReader? { readings.last?.reader }

    /// Adds a reader, in place of those that have ended.
    mutating func add(_ reader: MediaReader) {
      readings.append(Reading(reader: reader))
      // The first one counts the traffic of all.
      for reading in readings.dropFirst() where reading.isOver {
        bytesReadBefore += reading.reader.statistics.bytesRead
        spansBefore.formUnion(reading.reader.spansReadFromDisk)
      }
      readings = readings.prefix(1) + readings.dropFirst().filter { !$0.isOver }
    }

    /// Records that a reader reads no more.
    mutating func end(_ reader: MediaReader) {
      guard let index = readings.firstIndex(where: { $0.reader === reader }) else { return }
      readings[index].isOver = true
    }

    /// The sum; nil before the first reader.
    var statistics: MediaReader.Statistics? {
      // Readers of one resource count the same traffic: the first one's count includes all of it.
      guard var sum = readings.first?.reader.statistics else { return nil }
      sum.bytesRead += bytesReadBefore
      for reader in readers.dropFirst() { sum.bytesRead += reader.statistics.bytesRead }
      // A part that several of them read counts once.
      sum.bytesFromDisk = readers.reduce(into: spansBefore) {
        $0.formUnion($1.spansReadFromDisk)
      }.ranges.reduce(0) { $0 + Int64($1.count) }
      return sum
    }
  }
#endif
