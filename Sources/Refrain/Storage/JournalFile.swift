// SPDX-License-Identifier: MIT

/// An open journal (`SpanJournal`). It is closed when the last one who may still write to it lets
/// go, so that a late record never lands in another file that got the same descriptor.
final class JournalFile: Sendable {
  let path: String
  let epoch: Int
  private let descriptor: Int32
  private let disk: any Disk

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

  /// Writes the record of that number. Blocks.
  func write(_ span: ByteRange, number: Int) throws(DiskError) {
    let record = SpanJournal.record(span)
    let offset = Int64(SpanJournal.headerSize + number * SpanJournal.recordSize)
    try disk.write(record, to: descriptor, at: offset)
  }
}
