// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// Sessions without a proxy: over a cache whose clock the test moves.
struct SessionTest: Sendable {
  let cache: MediaCache
  let time: Shared<Moment>

  var now: Date { time.value.wall }

  func pass(_ seconds: Double) {
    time.change { $0 = Moment(wall: $0.wall + seconds, uptime: $0.uptime + seconds) }
  }

  /// Returns those of another proxy with the same token.
  func sessions() -> StreamSessions { StreamSessions(cache, token: "t") }

  func store(_ token: String = "t") -> SessionStore {
    SessionStore(cache.privateFiles, token: token)
  }

  var hasFile: Bool { FileManager.default.fileExists(atPath: store().path) }

  func text() throws -> String { try String(contentsOfFile: store().path, encoding: .utf8) }

  @discardableResult
  func begin(_ name: String, in sessions: StreamSessions) throws -> StreamSession {
    let url = try #require(URL(string: "https://a.example/\(name).m3u8"))
    let jar = CookieJar(begun: time.value.uptime)
    return sessions.begin(with: ["Authorization": "é"], for: url, jar)
  }

  /// Returns once a session is in the file.
  func stored(_ session: StreamSession) async throws {
    try await eventually("the session is stored") {
      hasFile ? try text().contains(session.id) : false
    }
  }

  /// Returns a session that is not a proxy's.
  func session(
    _ id: String, age: Int = 0, variables: [String: String] = [:], expires: Date? = nil
  ) throws -> StreamSession {
    let url = try #require(URL(string: "https://a.example/\(id)/list.m3u8"))
    let jar = CookieJar(begun: time.value.uptime)
    let end = expires.map { "; Expires=\(HTTPDate.format($0))" } ?? ""
    jar.store(["c=\(id); Path=/; Secure\(end)"], from: url, at: now)
    let record = StreamSession.Record(
      id: id, url: url, headers: [.init(name: "Authorization", value: "Bearer é")],
      variables: variables, lastUse: Int(now.timeIntervalSince1970) - age)
    return StreamSession(record, jar, noteChange: {})
  }
}

func withSessionTest(_ body: (SessionTest) async throws -> Void) async throws {
  let directory = FileManager.default.temporaryDirectory.appending(
    path: "refrain-session-test-\(UUID().uuidString)", directoryHint: .isDirectory)
  let wall = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded(.down))
  let time = Shared(Moment(wall: wall, uptime: .now))
  var configuration = MediaCache.Configuration()
  configuration.clock = { time.value }
  let cache = try MediaCache(directory: directory, configuration: configuration)
  let result: Result<Void, any Error>
  do {
    result = .success(try await body(SessionTest(cache: cache, time: time)))
  } catch {
    result = .failure(error)
  }
  await cache.close()
  try? FileManager.default.removeItem(at: directory)
  try result.get()
}

extension SessionStore {
  @discardableResult
  func add(_ sessions: [StreamSession], at now: Date) throws -> Exchanged {
    var known = Known()
    return try exchange(sessions, at: now, &known) ?? Exchanged()
  }

  /// Returns the identifiers of the stored sessions.
  func ids(at now: Date) throws -> [String] { try add([], at: now).records.map(\.id) }
}

/// A value that closures change.
final class Shared<Value: Sendable>: Sendable {
  private let state: Mutex<Value>

  init(_ value: Value) { state = Mutex(value) }

  var value: Value { state.withLock { $0 } }

  func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}
