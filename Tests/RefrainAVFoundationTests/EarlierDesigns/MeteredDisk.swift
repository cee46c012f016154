// SPDX-License-Identifier: MIT
import RefrainLocks

@testable import Refrain

/// The system's disk, counting Refrain's writes: media apart from records.
final class MeteredDisk: Disk {
  private let system = SystemDisk()
  private let meter: Meter
  private let mediaFiles = Mutex<Set<Int32>>([])
  private let mediaExtension: String

  init(meter: Meter, mediaExtension: String) {
    self.meter = meter
    self.mediaExtension = mediaExtension
  }

  func makeDirectory(_ path: String) throws(DiskError) { try system.makeDirectory(path) }

  func setStoredMediaAttributes(_ path: String) throws {
    try system.setStoredMediaAttributes(path)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    let descriptor = try system.open(path, mode)
    let isMedia = path.hasSuffix("." + mediaExtension)
    mediaFiles.withLock { files in
      if isMedia { files.insert(descriptor) } else { files.remove(descriptor) }
    }
    return descriptor
  }

  func close(_ descriptor: Int32) { system.close(descriptor) }

  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    try system.write(bytes, to: descriptor, at: offset)
    if mediaFiles.withLock({ $0.contains(descriptor) }) {
      meter.wrote(media: bytes.count)
    } else {
      meter.wrote(record: bytes.count)
    }
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
