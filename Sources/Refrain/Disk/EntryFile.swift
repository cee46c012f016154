// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// An open file, which is closed when its last user releases it: so a late call cannot reach another
/// file that reuses the descriptor. Its calls block.
final class OpenFile: Sendable {
  let path: String
  let descriptor: Int32
  let disk: any Disk

  init(_ path: String, _ mode: OpenMode, disk: any Disk) throws(DiskError) {
    (self.path, self.disk) = (path, disk)
    descriptor = try disk.open(path, mode)
  }

  deinit { disk.close(descriptor) }

  func write(_ bytes: some ContiguousBytes, at offset: Int64) throws(DiskError) {
    try disk.write(bytes, to: descriptor, at: offset)
  }

  func status() throws(DiskError) -> FileStatus { try disk.status(of: descriptor) }
}

/// The data of one generation: a sparse file, byte x of the resource at offset x. It stays readable
/// while this object exists, even after it is unlinked.
///
/// Holds a shared lock of the file during its lifetime, so that other processes do not truncate
/// bytes in use. Its calls block, unless noted otherwise.
package final class EntryFile: Sendable {
  private let file: OpenFile
  /// Whether the shared lock is held, or the file system cannot lock; false while another process
  /// shortens the file.
  let isLocked: Bool

  init(path: String, mode: OpenMode, disk: any Disk) throws(DiskError) {
    file = try OpenFile(path, mode, disk: disk)
    guard try file.status().kind == .file else {
      throw DiskError(operation: "open", path: path, code: EINVAL)
    }
    // No process shortens a file that it cannot lock.
    isLocked = (try? disk.lock(file.descriptor, .shared)) ?? true
  }

  deinit { disk.unlock(descriptor, .shared) }

  var path: String { file.path }
  package var descriptor: Int32 { file.descriptor }
  private var disk: any Disk { file.disk }

  func write(_ bytes: Data, at offset: Int64) throws(DiskError) {
    try file.write(bytes, at: offset)
  }

  /// Nil if the bytes are not there or cannot be read, which their next reader reports.
  func beginning(_ count: Int64) -> Data? {
    guard let bytes = try? disk.read(Int(count), of: descriptor), bytes.count == count else {
      return nil
    }
    return Data(bytes)
  }

  /// Reads fewer bytes than the buffer holds only at the end of the file; nil if reading fails.
  package func copy(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    try? disk.read(descriptor, into: buffer, at: offset)
  }

  func readWithoutWaiting(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int? {
    disk.readWithoutWaiting(descriptor, into: buffer, at: offset)
  }

  func sync() throws(DiskError) { try disk.sync(descriptor) }

  func status() throws(DiskError) -> FileStatus { try file.status() }

  /// True if that is unknown. Another program may have truncated the file.
  package func reaches(_ end: Int64) -> Bool { (try? status()).map { $0.size >= end } ?? true }

  /// False if that is unknown, and of a file that has another name, such as a hard link. Does not wait
  /// for the disk on a local file system.
  var isUnlinked: Bool { (try? status())?.links == 0 }

  func holes() throws(DiskError) -> RangeSet<Int64> { try disk.holes(in: descriptor) }
}

/// A local file that is read, and may be shortened meanwhile. Its calls block.
package struct RegularFile {
  private let handle: FileHandle
  /// In bytes, as it was when the file was opened.
  package let length: Int64

  /// Returns nil for anything but a regular file: reading a pipe or a device would wait, and take
  /// bytes from others. Throws `POSIXError` if the file cannot be opened.
  package init?(_ url: URL) throws {
    let file = open(url.path(percentEncoded: false), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    length = Int64(status.st_size)
  }

  /// Returns the bytes of a range; fewer if the file is shorter by now, none if it cannot be read.
  package func bytes(in range: Range<Int64>) -> [UInt8] {
    do {
      try handle.seek(toOffset: UInt64(range.lowerBound))
      return [UInt8](try handle.read(upToCount: range.count) ?? Data())
    } catch { return [] }
  }

  /// A file that was only read from is closed whatever close(2) returns.
  package func close() { try? handle.close() }
}
