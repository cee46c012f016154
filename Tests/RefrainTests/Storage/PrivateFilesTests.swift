// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import Testing

@testable import Refrain

/// The files that belong to the cache as a whole, and their removal.
@Suite(.timeLimit(.minutes(1))) struct PrivateFilesTests {
  private let directory = CacheDirectory(length: 2000)

  private func withCache(_ body: (MediaCache, WatchedDisk) async throws -> Void) async throws {
    let disk = WatchedDisk()
    try await directory.withCache(disk: disk) { try await body($0, disk) }
  }

  @Test func `A removal on a disk that entries fill is recorded`() async throws {
    try await withCache { cache, disk in
      try await cache.prefetch(directory.url())
      try await eventually("the entry is closed") { cache.table.isEmpty }
      let files = cache.privateFiles
      try files.replace("secret", with: [1, 2])
      let entry = try directory.stored().directory.path
      disk.fail { operation, path in
        guard operation == .write, path.contains("/private/") else { return nil }
        return SystemFiles.status(of: entry) == nil ? nil : ENOSPC
      }
      try await cache.removeAll()
      #expect(try files.contents(of: "secret", limit: 10) == nil)
      #expect(try files.lastRemoval() != nil)
    }
  }

  @Test func `A removal is recorded once there is room, also if an entry is left`() async throws {
    try await withCache { cache, disk in
      for name in ["a", "b"] { try await cache.prefetch(directory.url(name)) }
      try await eventually("the entries are closed") { cache.table.isEmpty }
      let files = cache.privateFiles
      try files.replace("secret", with: [1, 2])
      let gone = try directory.stored("a").directory.recordPath
      let left = try directory.stored("b").directory.recordPath
      disk.fail { operation, path in
        if operation == .remove, path == left { return EPERM }
        guard operation == .write, path.contains("/private/") else { return nil }
        return SystemFiles.status(of: gone) == nil ? nil : ENOSPC
      }
      await #expect(throws: MediaCacheError.self) { try await cache.removeAll() }
      #expect(try files.lastRemoval() != nil)
    }
  }

  @Test func `Private files are removed before the entries`() async throws {
    try await withCache { cache, disk in
      try await cache.prefetch(directory.url())
      try await eventually("the entry is closed") { cache.table.isEmpty }
      try cache.privateFiles.replace("secret", with: [1, 2])
      let removed = Mutex<[String]>([])
      disk.fail { operation, path in
        if operation == .remove { removed.withLock { $0.append(path) } }
        return nil
      }
      try await cache.removeAll()
      #expect(removed.withLock { $0 }.first?.hasSuffix("/private/secret") == true)
      #expect(try await cache.entries().isEmpty)
    }
  }

  @Test func `The time of a removal is taken under the lock, before the first file is removed`()
    async throws
  {
    try await withCache { cache, disk in
      let files = cache.privateFiles
      try files.replace("secret", with: [1, 2])
      let time = Uptime.now
      try files.removeAll {
        #expect(disk.openLocked(files.path(of: PrivateFiles.lockName), within: .zero) == nil)
        #expect(SystemFiles.status(of: files.path(of: "secret")) != nil)
        return time
      }
      #expect(try files.lastRemoval() == time)
    }
  }

  @Test func `A directory among the files stays, and is no obstacle`() async throws {
    try await withCache { cache, _ in
      let files = cache.privateFiles
      try files.replace("secret", with: [1, 2])
      try FileManager.default.createDirectory(
        atPath: files.path(of: "foreign/inner"), withIntermediateDirectories: true)
      try await cache.removeAll()
      #expect(Set(SystemFiles.names(in: files.path)) == ["foreign", "lock", "removal"])
    }
  }

  @Test func `A removal that cannot be recorded is reported, and survives a power cut`()
    async throws
  {
    try await withCache { cache, disk in
      let files = cache.privateFiles
      try files.replace("secret", with: [1, 2])
      let isSynced = Mutex(false)
      disk.fail { operation, path in
        if operation == .syncDirectory, path == files.path { isSynced.withLock { $0 = true } }
        return operation == .write && path.contains("/private/") ? ENOSPC : nil
      }
      let error = await expectError(.storage) { try await cache.removeAll() }
      #expect(error?.reason.contains("so a program that runs may store its own again") == true)
      #expect(try files.contents(of: "secret", limit: 10) == nil)
      #expect(isSynced.withLock { $0 })
      // No part of the record is left.
      #expect(SystemFiles.names(in: files.path) == ["lock"])
    }
  }

  @Test func `A file that cannot be removed does not keep the others`() async throws {
    try await withCache { cache, disk in
      let files = cache.privateFiles
      for name in ["a", "b", "c"] { try files.replace(name, with: [1]) }
      disk.fail { operation, path in
        operation == .remove && path.hasSuffix("/b") ? EPERM : nil
      }
      await #expect(throws: MediaCacheError.self) { try await cache.removeAll() }
      #expect(Set(SystemFiles.names(in: files.path)) == ["b", "lock", "removal"])
    }
  }

  @Test func `Credentials that are left are reported before any other failure`() async throws {
    try await withCache { cache, disk in
      try cache.privateFiles.replace("secret", with: [1])
      let others: [(WatchedDisk.Operation, String)] = [(.list, "/entries"), (.write, "/private/")]
      for (other, place) in others {
        for areLeft in [true, false] {
          disk.fail { operation, path in
            if areLeft, operation == .remove, path.hasSuffix("/secret") { return EPERM }
            return operation == other && path.contains(place) ? EIO : nil
          }
          let error = await #expect(throws: MediaCacheError.self) { try await cache.removeAll() }
          let isNamed =
            error?.reason.contains("headers, cookies, positions and queue") == true
            && error?.reason.contains(String(cString: strerror(EPERM))) == true
          #expect(isNamed == areLeft, "\(other): \(error?.reason ?? "")")
        }
        disk.fail(nil)
        try cache.privateFiles.replace("secret", with: [1])
      }
    }
  }

  @Test func `A removal is compared with times of the same run of the machine`() async throws {
    try await withCache { cache, _ in
      let files = cache.privateFiles
      #expect(try files.lastRemoval() == nil)
      let before = Uptime.now
      #expect(!files.isRemovedHere(since: before))
      try await cache.removeAll()
      #expect(files.isRemovedHere(since: before) && !files.isRemovedHere(since: .now + 1))
      let first = try #require(try files.lastRemoval())
      #expect(first.isAfter(before) && !first.isAfter(.now + 1))
      #expect(!first.isAfter(Uptime(seconds: 0, boot: "another")))
      try await cache.removeAll()
      #expect(try files.lastRemoval() != first)
    }
  }

  @Test func `A file that changes every second is synced only on request`() async throws {
    try await withCache { cache, disk in
      let files = cache.privateFiles
      let syncs = Mutex<[WatchedDisk.Operation]>([])
      disk.fail { operation, path in
        guard path.hasPrefix(files.path) else { return nil }
        if [.sync, .syncDirectory].contains(operation) { syncs.withLock { $0 += [operation] } }
        return nil
      }
      try files.replace("a", with: [1], syncs: false)
      #expect(syncs.withLock { $0 } == [])
      try files.sync(["a"])
      #expect(syncs.withLock { $0 } == [.sync, .syncDirectory])
      try files.replace("a", with: [2])
      try files.remove(["a"])
      #expect(syncs.withLock { $0.count } == 5)
      // Removed meanwhile.
      try files.sync(["a"])
    }
  }

  @Test func `A temporary file that an ended program left is no file, and is removed`() async throws
  {
    try await withCache { cache, disk in
      let files = cache.privateFiles
      for name in ["a-1", "a-2", "a-2.old", "a-2.new", "b.old"] {
        try files.replace(name, with: [1])
      }
      let month = Date.now.timeIntervalSince1970 - 30 * 86_400
      for name in ["a-1", "a-2.old", "b.old"] {
        try disk.setChangeTime(of: files.path(of: name), to: month)
      }
      #expect(Set(try files.names(withPrefix: "a-")) == ["a-1", "a-2"])
      try files.removeOld(withPrefix: "a-")
      #expect(Set(SystemFiles.names(in: files.path)) == ["a-1", "a-2", "a-2.new", "b.old"])
      try files.removeOld(withPrefix: "a-", unchangedSince: .now - 86_400, except: "a-1")
      #expect(Set(SystemFiles.names(in: files.path)) == ["a-1", "a-2", "a-2.new", "b.old"])
      try files.removeOld(withPrefix: "a-", unchangedSince: .now - 86_400)
      #expect(Set(SystemFiles.names(in: files.path)) == ["a-2", "a-2.new", "b.old"])
    }
  }

  @Test func `A file larger than the limit is read in part`() async throws {
    try await withCache { cache, _ in
      let files = cache.privateFiles
      try files.replace("a", with: [1, 2, 3])
      #expect(try files.contents(of: "a", limit: 3) == [1, 2, 3])
      #expect(try files.contents(of: "a", limit: 2) == [1, 2])
    }
  }
}
