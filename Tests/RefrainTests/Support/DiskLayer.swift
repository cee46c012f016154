// SPDX-License-Identifier: MIT
@testable import Refrain

/// A disk over the system's: calls that it does not implement go to the system.
protocol DiskLayer: Disk {
  var system: SystemDisk { get }
}

extension DiskLayer {
  func makeDirectory(_ path: String) throws(DiskError) { try system.makeDirectory(path) }
  func setStoredMediaAttributes(_ path: String) throws {
    try system.setStoredMediaAttributes(path)
  }
  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    try system.open(path, mode)
  }
  func close(_ descriptor: Int32) { system.close(descriptor) }
  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    try system.write(bytes, to: descriptor, at: offset)
  }
  func sync(_ descriptor: Int32) throws(DiskError) { try system.sync(descriptor) }
  func syncDirectory(_ path: String) throws(DiskError) { try system.syncDirectory(path) }
  func rename(_ old: String, to new: String) throws(DiskError) {
    try system.rename(old, to: new)
  }
  func remove(_ path: String) throws(DiskError) { try system.remove(path) }
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
  func unlock(_ descriptor: Int32, _ kind: LockKind) { system.unlock(descriptor, kind) }
  func isLocked(_ descriptor: Int32, against kind: LockKind) throws(DiskError) -> Bool {
    try system.isLocked(descriptor, against: kind)
  }
}

/// Files as the system sees them, bypassing every scripted disk.
enum SystemFiles {
  private static let disk = SystemDisk()

  /// Returns nil if no file has that name, or it cannot be looked up.
  static func status(of path: String) -> FileStatus? { try? disk.status(of: path) }

  /// Returns no names if the directory cannot be listed.
  static func names(in path: String) -> [String] { (try? disk.names(in: path)) ?? [] }

  /// Rewrites a file except for a range of it, which is left without blocks.
  static func makeHole(_ hole: ByteRange, in path: String) throws {
    let descriptor = try disk.open(path, .readWrite)
    defer { disk.close(descriptor) }
    let size = try disk.status(of: descriptor).size
    var parts: [(offset: Int64, bytes: [UInt8])] = []
    for part in [0..<hole.lowerBound, hole.upperBound..<size] {
      var bytes = [UInt8](repeating: 0, count: Int(part.upperBound - part.lowerBound))
      _ = try bytes.withUnsafeMutableBytes {
        try disk.read(descriptor, into: $0, at: part.lowerBound)
      }
      parts.append((part.lowerBound, bytes))
    }
    try disk.truncate(descriptor, to: 0)
    for (offset, bytes) in parts {
      try bytes.withUnsafeBytes { try disk.write($0, to: descriptor, at: offset) }
    }
  }

  /// Sets the time of the last change, in seconds since 1970.
  static func setChangeTime(of path: String, to time: Double) {
    try? disk.setChangeTime(of: path, to: time)
  }
}

/// Returns the size of a directory and its contents in allocated blocks (as du(1) counts).
func allocatedBytes(_ path: String) -> Int64 {
  guard let own = SystemFiles.status(of: path) else { return 0 }
  guard own.kind == .directory else { return own.allocated }
  return SystemFiles.names(in: path).reduce(own.allocated) { $0 + allocatedBytes("\(path)/\($1)") }
}
