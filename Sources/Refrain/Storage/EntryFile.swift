// SPDX-License-Identifier: MIT
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The data of one generation: a sparse file, byte x of the resource at offset x. Unlinked or not,
/// it is readable for as long as somebody holds this.
///
/// Holds a shared flock(2) on the file for as long as it lives, which tells other processes that
/// the bytes are in use and may not be cut off.
package final class EntryFile: Sendable {
  let path: String
  package let descriptor: Int32
  /// Whether the shared lock was had: not while another process makes the file shorter.
  let isLocked: Bool
  private let disk: any Disk

  /// Opens, or makes, the file. Blocks.
  init(path: String, mode: OpenMode, disk: any Disk) throws(DiskError) {
    self.path = path
    self.disk = disk
    descriptor = try disk.open(path, mode)
    do throws(DiskError) {
      guard try disk.status(of: descriptor).kind == .file else {
        throw DiskError(operation: "open", path: path, code: EINVAL)
      }
    } catch {
      disk.close(descriptor)
      throw error
    }
    do throws(DiskError) {
      isLocked = try disk.lock(descriptor, .shared)
    } catch {
      // Nobody punches holes where nothing can be locked.
      isLocked = true
    }
  }

  deinit {
    disk.unlock(descriptor)
    disk.close(descriptor)
  }

  /// Blocks.
  func write(_ bytes: Data, at offset: Int64) throws(DiskError) {
    try disk.write(bytes, to: descriptor, at: offset)
  }

  /// Blocks. Fewer bytes than the buffer holds only at the end of the file.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(DiskError) -> Int {
    try disk.read(descriptor, into: buffer, at: offset)
  }

  /// As `read(into:at:)`, for front doors that copy bytes out of the file; nil where reading fails.
  package func copy(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
    do throws(DiskError) { return try read(into: buffer, at: offset) } catch { return nil }
  }

  /// Never blocks; nil where a disk would have to be waited for.
  func readWithoutWaiting(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) -> Int? {
    disk.readWithoutWaiting(descriptor, into: buffer, at: offset)
  }

  /// Blocks.
  func sync() throws(DiskError) { try disk.sync(descriptor) }

  /// Size and allocated blocks. Does not wait for the disk on a local file system.
  func status() throws(DiskError) -> FileStatus { try disk.status(of: descriptor) }

  /// Whether it reaches that far, as far as can be told: somebody else may have cut it short.
  func reaches(_ end: Int64) -> Bool { (try? status()).map { $0.size >= end } ?? true }

  /// Where it has no blocks.
  func holes() throws(DiskError) -> RangeSet<Int64> { try disk.holes(in: descriptor) }
}
