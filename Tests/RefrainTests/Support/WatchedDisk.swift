// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

@testable import Refrain

/// The system's disk, with scripted failures. `after` runs when an operation is done, before its
/// caller continues and before the next one begins: it sees the disk as of one instant.
final class WatchedDisk: DiskLayer {
  enum Operation: Sendable, Hashable {
    case makeDirectory, attributes, open, write, sync, syncDirectory, rename, remove
    case truncate, read, status, list, lock, holes
    /// Opens an existing file, for writing too, or for reading only.
    case openExisting, openForReading

    /// Whether the operation changes the disk.
    var changesDisk: Bool {
      switch self {
      case .truncate, .makeDirectory, .attributes, .open, .write, .sync, .syncDirectory, .rename,
        .remove:
        true
      case .read, .status, .list, .lock, .holes, .openExisting, .openForReading: false
      }
    }
  }

  let system = SystemDisk()
  private let fault = Mutex<Fault?>(nil)

  /// Wraps the closure: a lock's value that is itself a closure gains a layer each time it is read.
  private struct Fault: Sendable {
    let code: @Sendable (Operation, String) -> Int32?
  }

  private let paths = Mutex<[Int32: String]>([:])
  private let closings = Mutex<[String?]>([])
  private let after: @Sendable (Operation) -> Void
  /// Allows one operation at a time.
  private let turn = NSRecursiveLock()

  init(after: @Sendable @escaping (Operation) -> Void = { _ in }) {
    self.after = after
  }

  /// Sets the error for later operations by kind and path; nil: none.
  func fail(_ fault: (@Sendable (Operation, String) -> Int32?)?) {
    self.fault.withLock { $0 = fault.map(Fault.init) }
  }

  private func check(_ operation: Operation, _ path: String) throws(DiskError) {
    guard let code = fault.withLock({ $0 })?.code(operation, path) else { return }
    throw DiskError(operation: "\(operation)", path: path, code: code)
  }

  private func check(_ operation: Operation, _ descriptor: Int32) throws(DiskError) {
    try check(operation, paths.withLock { $0[descriptor] } ?? "")
  }

  func makeDirectory(_ path: String) throws(DiskError) {
    try check(.makeDirectory, path)
    turn.lock()
    defer { turn.unlock() }
    try system.makeDirectory(path)
    after(.makeDirectory)
  }

  func setStoredMediaAttributes(_ path: String) throws {
    try check(.attributes, path)
    turn.lock()
    defer { turn.unlock() }
    try system.setStoredMediaAttributes(path)
    after(.attributes)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    let operation: Operation =
      switch mode {
      case .create, .lock: .open
      case .readWrite: .openExisting
      case .read: .openForReading
      }
    try check(operation, path)
    turn.lock()
    defer { turn.unlock() }
    let descriptor = try system.open(path, mode)
    paths.withLock { $0[descriptor] = path }
    after(.open)
    return descriptor
  }

  /// The paths of the files that were closed; nil for one that was not open.
  var closed: [String?] { closings.withLock { $0 } }

  func close(_ descriptor: Int32) {
    let path = paths.withLock { $0.removeValue(forKey: descriptor) }
    closings.withLock { $0.append(path) }
    system.close(descriptor)
  }

  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    do throws(DiskError) {
      try check(.write, descriptor)
    } catch {
      // A disk that fills up accepts a part first.
      let part = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
      try system.write(part, to: descriptor, at: offset)
      throw error
    }
    turn.lock()
    defer { turn.unlock() }
    try system.write(bytes, to: descriptor, at: offset)
    after(.write)
  }

  func sync(_ descriptor: Int32) throws(DiskError) {
    try check(.sync, descriptor)
    turn.lock()
    defer { turn.unlock() }
    try system.sync(descriptor)
    after(.sync)
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    try check(.syncDirectory, path)
    turn.lock()
    defer { turn.unlock() }
    try system.syncDirectory(path)
    after(.syncDirectory)
  }

  func rename(_ old: String, to new: String) throws(DiskError) {
    try check(.rename, new)
    turn.lock()
    defer { turn.unlock() }
    try system.rename(old, to: new)
    after(.rename)
  }

  func remove(_ path: String) throws(DiskError) {
    try check(.remove, path)
    turn.lock()
    defer { turn.unlock() }
    try system.remove(path)
    after(.remove)
  }

  func truncate(_ descriptor: Int32, to size: Int64) throws(DiskError) {
    try check(.truncate, descriptor)
    turn.lock()
    defer { turn.unlock() }
    try system.truncate(descriptor, to: size)
    after(.truncate)
  }

  // Operations that change nothing do not call `after`.

  func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int {
    try check(.read, descriptor)
    return try system.read(descriptor, into: buffer, at: offset)
  }

  func readWithoutWaiting(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int? {
    // As on a failing disk, the blocking read reports the error.
    let path = paths.withLock { $0[descriptor] } ?? ""
    if fault.withLock({ $0 })?.code(.read, path) != nil { return nil }
    return system.readWithoutWaiting(descriptor, into: buffer, at: offset)
  }

  func status(of descriptor: Int32) throws(DiskError) -> FileStatus {
    try check(.status, descriptor)
    return try system.status(of: descriptor)
  }

  func status(of path: String) throws(DiskError) -> FileStatus? {
    try check(.status, path)
    return try system.status(of: path)
  }

  func names(in path: String) throws(DiskError) -> [String] {
    try check(.list, path)
    return try system.names(in: path)
  }

  func holes(in descriptor: Int32) throws(DiskError) -> RangeSet<Int64> {
    try check(.holes, descriptor)
    return try system.holes(in: descriptor)
  }

  func lock(_ descriptor: Int32, _ kind: LockKind) throws(DiskError) -> Bool {
    try check(.lock, descriptor)
    return try system.lock(descriptor, kind)
  }

  func isLocked(_ descriptor: Int32, against kind: LockKind) throws(DiskError) -> Bool {
    try check(.lock, descriptor)
    return try system.isLocked(descriptor, against: kind)
  }
}
