// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

@testable import Refrain

/// A cache in a directory of its own, over an origin of its own; the end of the test removes both.
final class TestCache: Sendable {
  let origin: OriginServer
  let directory: URL
  let configuration: MediaCache.Configuration
  let cache: MediaCache

  init(
    directory: URL? = nil, origin: OriginServer, configuration: MediaCache.Configuration
  ) throws {
    self.origin = origin
    self.directory = directory ?? TestCache.temporaryDirectory()
    self.configuration = configuration
    cache = try MediaCache(directory: self.directory, configuration: configuration)
  }

  static func temporaryDirectory() -> URL {
    FileManager.default.temporaryDirectory
      .appending(path: "refrain-test-\(UUID().uuidString)", directoryHint: .isDirectory)
  }

  /// The default test configuration: short retry delays, because no test waits for a clock.
  static func configuration(_ change: (inout MediaCache.Configuration) -> Void = { _ in })
    -> MediaCache.Configuration
  {
    var configuration = MediaCache.Configuration()
    configuration.limit = nil
    configuration.policy = .ofTests
    // Many tests at once slow the machine down; tests of silence set their own timeouts.
    configuration.responseTimeout = .seconds(100)
    configuration.silenceTimeout = .seconds(100)
    configuration.retry.firstDelay = .milliseconds(1)
    configuration.retry.longestDelay = .milliseconds(20)
    change(&configuration)
    return configuration
  }

  func reader(_ path: String, fill: FillPolicy? = nil) async throws -> MediaReader {
    try await cache.open(Resource(url: origin.url(path)), fill: fill)
  }

  /// Closes the cache, and runs `body` with another one over its directory and its origin.
  func reopened(
    _ change: (inout MediaCache.Configuration) -> Void = { _ in },
    _ body: (TestCache) async throws -> Void
  ) async throws {
    await cache.close()
    try await withCache(directory: directory, origin: origin, change, body)
  }

  /// Waits until no entry is open.
  func closed() async throws {
    try await eventually("every entry is closed") { cache.table.isEmpty }
  }

  /// Returns the origin's log once all sent bytes are counted: the log may trail the reader.
  func settledLog(_ path: String) async throws -> OriginLog {
    try await origin.wait(for: path) { $0.running == 0 }
  }

  func read(_ path: String, _ range: ByteRange? = nil) async throws -> [UInt8] {
    let reader = try await reader(path)
    defer { reader.cancel() }
    var bytes: [UInt8] = []
    for try await chunk in reader.chunks(in: range) { bytes += chunk }
    return bytes
  }
}

/// Runs a test over a cache and an origin, and ends both in any case.
func withCache(
  directory: URL? = nil, _ change: (inout MediaCache.Configuration) -> Void = { _ in },
  _ body: (TestCache) async throws -> Void
) async throws {
  let origin = try await OriginServer.start()
  do {
    try await withCache(directory: directory, origin: origin, change, body)
  } catch {
    await origin.stop()
    throw error
  }
  await origin.stop()
}

/// As above, over an existing origin.
func withCache(
  directory: URL? = nil, origin: OriginServer,
  _ change: (inout MediaCache.Configuration) -> Void = { _ in },
  _ body: (TestCache) async throws -> Void
) async throws {
  let test = try TestCache(
    directory: directory, origin: origin, configuration: TestCache.configuration(change))
  func tidy() async {
    await test.cache.close()
    if directory == nil { try? FileManager.default.removeItem(at: test.directory) }
  }
  do { try await body(test) } catch {
    await tidy()
    throw error
  }
  await tidy()
}
