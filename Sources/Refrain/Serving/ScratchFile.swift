// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// A private file without a name in the cache directory, for bytes that are not an entry's. Its
/// reserved bytes count towards the cache's limit; they are freed when this object is released, or
/// the process ends.
package final class ScratchFile: Sendable {
  private let descriptor: Int32
  private let budget: DiskBudget
  private let evictor: Evictor
  private let reserved = Mutex<Int64>(0)

  /// The name under which the bytes of all scratch files are accounted for.
  private static let account = "scratch"

  fileprivate init(_ context: CacheContext) throws(DiskError) {
    (budget, evictor) = (context.budget, context.evictor)
    let path = "\(budget.directory)/scratch-\(UUID().uuidString)"
    descriptor = try budget.disk.open(path, .create)
    // All properties are set: should this throw, `deinit` closes the descriptor.
    try budget.disk.removeFile(path)
  }

  deinit {
    let (budget, descriptor, bytes) = (budget, descriptor, reserved.withLock { $0 })
    // Freeing the blocks of a large file takes a while.
    Task(executorPreference: IOThreads.background) {
      budget.disk.close(descriptor)
      budget.settle(bytes, actual: 0, for: Self.account)
      budget.report()
    }
  }

  /// The bytes reserved so far.
  package var reservedBytes: Int64 { reserved.withLock { $0 } }

  /// The limit of the cache in bytes; nil: it has none.
  package var limit: Int64? { budget.limit }

  /// Reserves `bytes` more within the cache's limit, for which older entries are evicted. Returns
  /// false if there is no room.
  package func reserve(_ bytes: Int64) async -> Bool {
    let isReserved = await Task(executorPreference: IOThreads.shared) { [budget, evictor] in
      for _ in 0..<3 {
        if case .granted = budget.reserve(bytes) { return true }
        // Another writer may take the room that was made.
        guard await evictor.makeRoom(for: bytes) else { return false }
      }
      return false
    }.value
    if isReserved { reserved.withLock { $0 += bytes } }
    return isReserved
  }

  /// Writes all bytes at an offset. Blocks.
  ///
  /// - Throws: `MediaCacheError`, `.storage`.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws {
    do throws(DiskError) {
      try budget.disk.write(bytes, to: descriptor, at: offset)
    } catch {
      throw Self.problem(error)
    }
  }

  /// Reads the bytes at an offset, and returns their number; 0 at the end of the file. Blocks.
  ///
  /// - Throws: `MediaCacheError`, `.storage`.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    do throws(DiskError) {
      return try budget.disk.read(descriptor, into: buffer, at: offset)
    } catch {
      throw Self.problem(error)
    }
  }

  fileprivate static func problem(_ error: DiskError) -> MediaCacheError {
    MediaCacheError(
      .storage, "A temporary file of the cache failed: \(error).",
      remedy: error.isNoSpace ? "Free some disk space." : "Check the disk.")
  }
}

extension MediaCache {
  /// Makes a scratch file. Blocks.
  ///
  /// - Throws: `MediaCacheError`, `.storage`.
  package func makeScratchFile() throws -> ScratchFile {
    do throws(DiskError) {
      return try ScratchFile(context)
    } catch {
      throw ScratchFile.problem(error)
    }
  }
}
