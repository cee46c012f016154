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
    /// The record cannot be parsed, cannot be read, or belongs to a later version; the data file is
    /// shorter than the record says, or cannot be written to.
    case broken, unreadable, newer, short, unwritable
  }

  @Test(arguments: Damage.allCases)
  private func `A warning about a stored entry names its URL without the password`(
    _ damage: Damage
  ) async throws {
    let directory = TestCache.temporaryDirectory()
    defer { try? FileManager.default.removeItem(at: directory) }
    let url = try #require(URL(string: "http://anna:secret@origin.test/a.wav"))
    let disk = WatchedDisk()
    func cache() throws -> MediaCache {
      try MediaCache(
        directory: directory,
        configuration: TestCache.configuration {
          $0.transport = MemoryTransport(seed: 1, length: 300_007)
        }, disk: disk)
    }
    let first = try cache()
    try await first.prefetch(Resource(url: url), range: 0..<100_000)
    await first.close()
    let entry = StoredBytes(directory, url.withoutUserInfo).directory
    let file = try "\(entry.path)/\(entry.loadRecord().record.file)"
    switch damage {
    case .broken: try Data("{".utf8).write(to: URL(filePath: entry.recordPath))
    case .newer: try Data(#"{"version":99}"#.utf8).write(to: URL(filePath: entry.recordPath))
    case .short: #expect(truncate(file, 4096) == 0)
    case .unreadable:
      let record = entry.recordPath
      disk.fail { operation, path in
        operation == .openForReading && path == record ? EIO : nil
      }
    case .unwritable:
      disk.fail { operation, path in operation == .write && path == file ? EIO : nil }
    }
    let second = try cache()
    let events = second.events(includingTraffic: false)
    let reader = try await second.open(Resource(url: url))
    _ = try? await reader.bytes(in: 0..<300_007)
    reader.cancel()
    await second.close()
    var warnings: [String] = []
    for await case .warning(let text) in events { warnings.append(text) }
    #expect(!warnings.isEmpty)
    for text in warnings {
      #expect(text.contains("http://origin.test/a.wav"))
      #expect(!text.contains("secret"))
    }
  }
}
