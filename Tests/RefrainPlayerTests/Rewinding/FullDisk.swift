// SPDX-License-Identifier: MIT
#if os(Linux)
  import Glibc
  import RefrainLocks

  @testable import Refrain

  /// The system's disk, on which a scratch file has room for some bytes only.
  final class FullDisk: Disk {
    private let system = SystemDisk()
    private let room: Int64
    private let scratchFiles = Mutex<Set<Int32>>([])

    /// - Parameter room: in bytes.
    init(room: Int64) { self.room = room }

    func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
      let descriptor = try system.open(path, mode)
      if path.contains("/scratch-") { scratchFiles.withLock { _ = $0.insert(descriptor) } }
      return descriptor
    }

    func close(_ descriptor: Int32) {
      scratchFiles.withLock { _ = $0.remove(descriptor) }
      system.close(descriptor)
    }

    func write(
      _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
    ) throws(DiskError) {
      let isScratch = scratchFiles.withLock { $0.contains(descriptor) }
      guard !isScratch || offset + Int64(bytes.count) <= room else {
        throw DiskError(operation: "pwrite", path: "a scratch file", code: ENOSPC)
      }
      try system.write(bytes, to: descriptor, at: offset)
    }

    func makeDirectory(_ path: String) throws(DiskError) { try system.makeDirectory(path) }
    func setStoredMediaAttributes(_ path: String) throws {
      try system.setStoredMediaAttributes(path)
    }
    func sync(_ descriptor: Int32) throws(DiskError) { try system.sync(descriptor) }
    func syncDirectory(_ path: String) throws(DiskError) { try system.syncDirectory(path) }
    func rename(_ old: String, to new: String) throws(DiskError) {
      try system.rename(old, to: new)
    }
    func removeFile(_ path: String) throws(DiskError) { try system.removeFile(path) }
    func removeDirectory(_ path: String) throws(DiskError) { try system.removeDirectory(path) }
    func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError) {
      try system.truncate(descriptor, to: size)
    }
    func read(
      _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(DiskError) -> Int {
      try system.read(descriptor, into: buffer, at: offset)
    }
    func readWithoutWaiting(
      _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) -> Int? {
      system.readWithoutWaiting(descriptor, into: buffer, at: offset)
    }
    func status(of descriptor: Int32) throws(DiskError) -> FileStatus {
      try system.status(of: descriptor)
    }
    func status(of path: String) throws(DiskError) -> FileStatus? { try system.status(of: path) }
    func names(in path: String) throws(DiskError) -> [String] { try system.names(in: path) }
    func holes(in descriptor: Int32) throws(DiskError) -> RangeSet<Int64> {
      try system.holes(in: descriptor)
    }
    func setChangeTime(of path: String, to time: Double) throws(DiskError) {
      try system.setChangeTime(of: path, to: time)
    }
    func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool {
      try system.lock(descriptor, kind)
    }
    func unlock(_ descriptor: Int32) { system.unlock(descriptor) }
    func lock(_ descriptor: Int32, byteAt offset: Int64) throws(DiskError) -> Bool {
      try system.lock(descriptor, byteAt: offset)
    }
    func unlock(_ descriptor: Int32, byteAt offset: Int64) {
      system.unlock(descriptor, byteAt: offset)
    }
    func isLocked(_ descriptor: Int32, byteAt offset: Int64?) throws(DiskError) -> Bool {
      try system.isLocked(descriptor, byteAt: offset)
    }
  }
#endif
