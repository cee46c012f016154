// SPDX-License-Identifier: MIT
import Synchronization

/// An open journal (`SpanJournal`). It is closed when the last one who may still write to it lets
/// go, so that a late record never lands in another file that got the same descriptor.
final class JournalFile: Sendable {
  let path: String
  let epoch: Int
  private let descriptor: Int32
  private let disk: any Disk
  /// What it takes on disk, as far as it was counted.
  private let counted = Mutex(Int64(0))

  /// Makes the file and writes its header. Blocks.
  init(
    path: String, epoch: Int, bootIdentity: String, disk: any Disk
  ) throws(DiskError) {
    self.path = path
    self.epoch = epoch
    self.disk = disk
    descriptor = try disk.open(path, .create)
    let header = SpanJournal.header(bootIdentity: bootIdentity)
    do throws(DiskError) {
      try disk.write(header, to: descriptor, at: 0)
    } catch {
      disk.close(descriptor)
      throw error
    }
  }

  deinit { disk.close(descriptor) }

  /// How much more it takes on disk than was counted before. Blocks for a microsecond.
  func growth() -> Int64 {
    // Where it cannot be looked up it is counted when the entry is closed.
    let allocated = (try? disk.status(of: descriptor))?.allocated ?? 0
    return counted.withLock { counted in
      // It never shrinks: a lower number is an earlier one.
      defer { counted = max(counted, allocated) }
      return max(0, allocated - counted)
    }
  }

  /// The file was removed.
  ///
  /// - Returns: what was counted.
  func takeCounted() -> Int64 {
    counted.withLock { counted in
      defer { counted = 0 }
      return counted
    }
  }

  /// Writes the record of that number. Blocks.
  func write(_ span: ByteRange, number: Int) throws(DiskError) {
    let record = SpanJournal.record(span)
    let offset = Int64(SpanJournal.headerSize + number * SpanJournal.recordSize)
    try disk.write(record, to: descriptor, at: offset)
  }
}
