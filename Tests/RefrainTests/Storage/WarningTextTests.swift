// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Refrain

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A warning about stored bytes names the resource by its URL, without a password.
@Suite(.timeLimit(.minutes(1)))
struct WarningTextTests {
  private enum Damage: CaseIterable, Sendable {
    /// The record cannot be parsed, or cannot be read; the data file is shorter than the record
    /// says, or cannot be written to.
    case broken, unreadable, short, unwritable
  }

  @Test(arguments: Damage.allCases)
  private func `A warning about a stored entry names its URL without the password`(
    _ damage: Damage
  ) async throws {
    let directory = CacheDirectory(length: 300_007)
    let url = try #require(URL(string: "http://anna:secret@origin.test/a.wav"))
    let disk = WatchedDisk()
    try await directory.withCache(disk: disk) { try await $0.prefetch(url, range: 0..<100_000) }
    let (entry, file) = (try directory.stored().directory, try directory.dataFile())
    switch damage {
    case .broken: try Data("{".utf8).write(to: URL(filePath: entry.recordPath))
    case .short: #expect(truncate(file, 4096) == 0)
    case .unreadable:
      let record = entry.recordPath
      disk.fail { operation, path in
        operation == .openForReading && path == record ? EIO : nil
      }
    case .unwritable:
      disk.fail { operation, path in operation == .write && path == file ? EIO : nil }
    }
    let second = try directory.cache(disk: disk)
    let events = second.events(includingTraffic: false)
    let reader = try await second.open(url)
    _ = try? await reader.bytes(in: 0..<300_007)
    reader.cancel()
    await second.close()
    let texts = await warnings(events)
    #expect(!texts.isEmpty)
    for text in texts {
      #expect(text.contains("http://origin.test/a.wav"))
      #expect(!text.contains("secret"))
    }
  }
}
