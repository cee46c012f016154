// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

@testable import Refrain

/// The system's disk, failing where it is told to, and watched: `after` runs when an operation has
/// been done, before its caller goes on.
final class WatchedDisk: Disk {
  enum Operation: Sendable, Hashable {
    case makeDirectory, attributes, open, write, sync, syncDirectory, rename, remove, punch
  }

  private let system = SystemDisk()
  private let fault = Mutex<(@Sendable (Operation, String) -> Int32?)?>(nil)
  private let paths = Mutex<[Int32: String]>([:])
  private let after: @Sendable (Operation) -> Void

  init(after: @Sendable @escaping (Operation) -> Void = { _ in }) {
    self.after = after
  }

  /// Which error an operation on a path gets from now on; nil: none.
  func fail(_ fault: (@Sendable (Operation, String) -> Int32?)?) {
    self.fault.withLock { $0 = fault }
  }

  private func check(_ operation: Operation, _ path: String) throws(DiskError) {
    guard let code = fault.withLock({ $0 })?(operation, path) else { return }
    throw DiskError(operation: "\(operation)", path: path, code: code)
  }

  private func check(_ operation: Operation, _ descriptor: Int32) throws(DiskError) {
    try check(operation, paths.withLock { $0[descriptor] } ?? "")
  }

  func makeDirectory(_ path: String) throws(DiskError) {
    try check(.makeDirectory, path)
    try system.makeDirectory(path)
    after(.makeDirectory)
  }

  func setStoredMediaAttributes(_ path: String) throws {
    try check(.attributes, path)
    try system.setStoredMediaAttributes(path)
    after(.attributes)
  }

  func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> Int32 {
    if mode == .create { try check(.open, path) }
    let descriptor = try system.open(path, mode)
    paths.withLock { $0[descriptor] = path }
    after(.open)
    return descriptor
  }

  func close(_ descriptor: Int32) {
    paths.withLock { $0[descriptor] = nil }
    system.close(descriptor)
  }

  func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64
  ) throws(DiskError) {
    do throws(DiskError) {
      try check(.write, descriptor)
    } catch {
      // A disk that fills up takes a part first.
      let part = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)])
      try system.write(part, to: descriptor, at: offset)
      throw error
    }
    try system.write(bytes, to: descriptor, at: offset)
    after(.write)
  }

  func sync(_ descriptor: Int32) throws(DiskError) {
    try check(.sync, descriptor)
    try system.sync(descriptor)
    after(.sync)
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    try check(.syncDirectory, path)
    try system.syncDirectory(path)
    after(.syncDirectory)
  }

  func rename(_ old: String, to new: String) throws(DiskError) {
    try check(.rename, new)
    try system.rename(old, to: new)
    after(.rename)
  }

  func removeFile(_ path: String) throws(DiskError) {
    try check(.remove, path)
    try system.removeFile(path)
    after(.remove)
  }

  func removeDirectory(_ path: String) throws(DiskError) {
    try check(.remove, path)
    try system.removeDirectory(path)
    after(.remove)
  }

  func punch(_ range: ByteRange, in descriptor: Int32) throws(DiskError) {
    try check(.punch, descriptor)
    try system.punch(range, in: descriptor)
    after(.punch)
  }
}

/// What a directory and all that is in it takes, in allocated blocks (as du(1) counts).
func allocatedBytes(_ path: String) -> Int64 {
  var sum = FileReading.status(of: path)?.allocated ?? 0
  for name in EntryDirectory.names(in: path) {
    let inner = "\(path)/\(name)"
    sum +=
      FileReading.isDirectory(inner)
      ? allocatedBytes(inner) : FileReading.status(of: inner)?.allocated ?? 0
  }
  return sum
}
