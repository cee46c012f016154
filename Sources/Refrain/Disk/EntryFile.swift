// SPDX-License-Identifier: MIT
package import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// An open file, which is unlocked and closed when its last user releases it: so a late call cannot
/// reach another file that reuses the descriptor. Its calls block, but for `readWithoutWaiting`.
///
/// The data of one generation is a sparse file, byte x of the resource at offset x, with a shared
/// lock, which keeps other processes from truncating it.
package final class EntryFile: Sendable {
  let path: String
  package let descriptor: Int32
  private let disk: any Disk
  private let lock: LockKind?
  /// Whether the lock is held; the error if the file system cannot lock.
  let locking: Result<Bool, DiskError>

  init(
    path: String, mode: OpenMode, lock: LockKind? = .shared, disk: any Disk
  ) throws(DiskError) {
    (self.path, self.lock, self.disk) = (path, lock, disk)
    let descriptor = try disk.open(path, mode)
    self.descriptor = descriptor
    locking = Result { () throws(DiskError) in
      try lock.map { kind throws(DiskError) in try disk.lock(descriptor, kind) } ?? true
    }
    guard try status().kind == .file else {
      throw DiskError(operation: "open", path: path, code: EINVAL)
    }
  }

  deinit {
    if let lock { disk.unlock(descriptor, lock) }
    disk.close(descriptor)
  }

  /// False while another process shortens the file, which none does that it cannot lock.
  var isLocked: Bool { (try? locking.get()) ?? true }

  func write(_ bytes: some ContiguousBytes, at offset: Int64) throws(DiskError) {
    // `withUnsafeBytes` loses the type of a thrown error.
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(DiskError) in try disk.write(buffer, to: descriptor, at: offset) }
    }
    try result.get()
  }

  /// Fewer bytes if the file is shorter.
  func beginning(_ count: Int) throws(DiskError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = try bytes.withUnsafeMutableBufferPointer { buffer throws(DiskError) in
      try disk.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
    bytes.removeLast(count - read)
    return bytes
  }

  /// Reads fewer bytes than the buffer holds at the end of the file only; nil if reading fails.
  package func copy(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    try? disk.read(descriptor, into: buffer, at: offset)
  }

  func readWithoutWaiting(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int? {
    disk.readWithoutWaiting(descriptor, into: buffer, at: offset)
  }

  func isLocked(against kind: LockKind) throws(DiskError) -> Bool {
    try disk.isLocked(descriptor, against: kind)
  }

  func truncate(to size: Int64) throws(DiskError) { try disk.truncate(descriptor, to: size) }

  func sync() throws(DiskError) { try disk.sync(descriptor) }

  func status() throws(DiskError) -> FileStatus { try disk.status(of: descriptor) }

  /// True if that is unknown. Another program may have truncated the file.
  package func reaches(_ end: Int64) -> Bool { (try? status()).map { $0.size >= end } ?? true }

  /// False if that is unknown, and of a file that has another name, such as a hard link.
  var isUnlinked: Bool { (try? status())?.links == 0 }

  func holes() throws(DiskError) -> RangeSet<Int64> { try disk.holes(in: descriptor) }
}

/// The right to change one entry's files: a lock of one byte of the file `locks`, at an offset
/// derived from the entry's name. The file stays empty: bytes beyond the end can be locked. A file
/// per entry, made and removed each time, cost more than everything else.
///
/// If the file system cannot lock, one process may undo what another has stored, but never corrupt
/// it: every generation has file names of its own, and no part of a file is freed without a lock.
enum WriterLock {
  static let fileName = "locks"

  /// Nil if another writer holds the lock. With `waits`, retries for some milliseconds: pinning,
  /// evicting and verifying hold it for a moment, and a child process that was just forked, its
  /// parent's locks until it executes its program.
  static func acquire(
    _ directory: EntryDirectory, waits: Bool = true
  ) throws(DiskError) -> EntryFile? {
    // Another program may have removed the file with its directory.
    try directory.disk.makeDirectories(directory.lockPath.parentPath)
    for attempt in 0..<(waits ? 5 : 1) {
      if attempt > 0 { usleep(2000) }
      let file = try EntryFile(
        path: directory.lockPath, mode: .lock, lock: byte(of: directory), disk: directory.disk)
      if file.isLocked { return file }
    }
    return nil
  }

  static func isHeld(_ directory: EntryDirectory) -> Bool {
    // False if the file is missing, cannot be opened, or the file system cannot lock.
    let file = try? EntryFile(
      path: directory.lockPath, mode: .readWrite, lock: nil, disk: directory.disk)
    return (try? file?.isLocked(against: byte(of: directory))) ?? false
  }

  /// Two entries that share a byte only cannot be stored at the same time.
  private static func byte(of directory: EntryDirectory) -> LockKind {
    .byte(Int64((UInt64(directory.name.prefix(16), radix: 16) ?? 0) >> 2))
  }
}

/// A local file that is read, and may be shortened meanwhile. Its calls block. Closes by itself.
package struct RegularFile {
  private let handle: FileHandle
  /// As it was when the file was opened.
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
    guard (try? handle.seek(toOffset: UInt64(range.lowerBound))) != nil else { return [] }
    return [UInt8]((try? handle.read(upToCount: range.count)) ?? Data())
  }
}
