// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

/// Files that could be opened, and not prepared. A descriptor that is closed twice is another
/// file's, or a connection's, the second time.
@Suite(.timeLimit(.minutes(1)))
struct FailedCreationTests {
  @Test func `A journal whose header does not fit on the disk is closed once`() throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let disk = WatchedDisk()
    disk.fail { operation, _ in operation == .write ? ENOSPC : nil }
    let path = directory.path(percentEncoded: false) + "/journal"
    #expect(throws: DiskError.self) {
      try JournalFile(path: path, epoch: 1, bootIdentity: "boot", disk: disk)
    }
    #expect(disk.closed == [path])
  }
}
