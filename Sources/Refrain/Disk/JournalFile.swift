// SPDX-License-Identifier: MIT
import Synchronization

/// An open journal (`SpanJournal`). The descriptor is closed when the last possible writer releases
/// the journal, so a late record cannot go to another file that reuses the descriptor.
final class JournalFile: Sendable {
  let path: String
  let epoch: Int
  private let descriptor: Int32
  private let disk: any Disk
  /// The allocated size that was counted so far.
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

  /// Returns the growth of the allocated size since the last call. Blocks for a microsecond.
  func growth() -> Int64 {
    // On failure the file is counted when the entry is closed.
    let allocated = (try? disk.status(of: descriptor))?.allocated ?? 0
    return counted.withLock { counted in
      // The file never shrinks: a lower number is an earlier one.
      defer { counted = max(counted, allocated) }
      return max(0, allocated - counted)
    }
  }

  /// Resets the count after the file was removed.
  ///
  /// - Returns: the size that was counted.
  func takeCounted() -> Int64 {
    counted.withLock { counted in
      defer { counted = 0 }
      return counted
    }
  }

  /// Writes a record at the position of that number. Blocks.
  func write(_ span: ByteRange, number: Int) throws(DiskError) {
    let record = SpanJournal.record(span)
    let offset = Int64(SpanJournal.headerSize + number * SpanJournal.recordSize)
    try disk.write(record, to: descriptor, at: offset)
  }
}
