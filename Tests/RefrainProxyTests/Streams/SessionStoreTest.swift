// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

@testable import RefrainProxy

/// A suite that reads and writes the file of a proxy's sessions.
protocol SessionStoreTest {
  var now: Date { get }
}

extension Date {
  /// The present, in whole seconds.
  static var presentSecond: Date {
    Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
  }
}

extension SessionStoreTest {
  func withCache(_ body: (MediaCache) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "refrain-session-test-\(UUID().uuidString)", directoryHint: .isDirectory)
    let cache = try MediaCache(directory: directory)
    let result: Result<Void, any Error>
    do { result = .success(try await body(cache)) } catch { result = .failure(error) }
    await cache.close()
    try? FileManager.default.removeItem(at: directory)
    try result.get()
  }

  func record(
    _ id: String, age: TimeInterval = 0, variables: [String: String] = [:],
    expires: Date? = nil
  ) -> SessionRecord {
    SessionRecord(
      id: id, url: "https://a.example/\(id)/list.m3u8",
      headers: [SessionRecord.Header(name: "Authorization", value: "Bearer é")],
      cookies: [
        CookieJar.Cookie(
          pair: CookieJar.Pair(name: "c", value: id), domain: "a.example", path: "/",
          isHostOnly: true, isSecure: true, expires: expires)
      ], variables: variables, lastUse: now.addingTimeInterval(-age))
  }
}

extension SessionStore {
  /// Adds sessions that began at this time.
  @discardableResult
  func add(
    _ records: [SessionRecord], at now: Date, begun: Uptime = .now
  ) throws -> Set<String> {
    try add({ records.map { BegunSession(record: $0, begun: begun) } }, at: now)
  }
}

/// A value that closures change.
final class Shared<Value: Sendable>: Sendable {
  private let state: Mutex<Value>

  init(_ value: Value) { state = Mutex(value) }

  var value: Value { state.withLock { $0 } }

  func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}
