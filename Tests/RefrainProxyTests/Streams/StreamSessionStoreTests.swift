// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// The file of a proxy's sessions.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionStoreTests {
  private let month = Double(SessionStore.longestUnused)

  @Test func `Two proxies with one token keep the sessions of both`() async throws {
    try await withSessionTest { test in
      let store = test.store()
      let first = [try test.session("a"), try test.session("both", age: 5)]
      try store.add(first, at: test.now)
      let newer = try test.session("both", age: 1, variables: ["x": "1"])
      try test.store().add([try test.session("b", age: 2), newer], at: test.now)
      try store.add(first, at: test.now)
      let records = try test.store().add([], at: test.now).records
      #expect(records.map(\.id) == ["a", "both", "b"])
      #expect(records[1] == newer.record(at: test.now))
    }
  }

  @Test func `A session unused for a month is dropped`() async throws {
    try await withSessionTest { test in
      let (store, now) = (test.store(), test.now)
      let all = [
        try test.session("a", age: SessionStore.longestUnused - 2),
        try test.session("b", age: -1_000_000_000),
      ]
      try store.add(all, at: now)
      #expect(try store.ids(at: now) == ["b", "a"])
      #expect(try store.ids(at: now + 5) == ["b"])
      // A clock that was wrong keeps no session for ever.
      #expect(try store.ids(at: now + month + 1).isEmpty)
      #expect(try test.text().isEmpty)
    }
  }

  @Test func `The file of a token that is not used any more is removed`() async throws {
    try await withSessionTest { test in
      let old = test.store("old")
      try old.add([try test.session("a")], at: test.now)
      #expect(try test.store("new").ids(at: test.now).isEmpty)
      #expect(FileManager.default.fileExists(atPath: old.path))
      #expect(try test.store("new").ids(at: test.now + month + 3600).isEmpty)
      #expect(!FileManager.default.fileExists(atPath: old.path))
    }
  }

  @Test func `The positions and the queue of a player stay, however old`() async throws {
    try await withSessionTest { test in
      let files = test.cache.privateFiles
      let names = ["position-0123456789abcdef", "queue", "queue-place", "languages"]
      let old = test.store("old")
      try old.add([try test.session("a")], at: test.now)
      for name in names { try files.replace(name, with: [1]) }
      for path in names.map({ files.path(of: $0) }) + [old.path] {
        try FileManager.default.setAttributes(
          [.modificationDate: test.now - 40 * 86_400], ofItemAtPath: path)
      }
      #expect(try test.store().ids(at: test.now).isEmpty)
      #expect(!FileManager.default.fileExists(atPath: old.path))
      #expect(try names.allSatisfy { try files.contents(of: $0, limit: 1) != nil })
    }
  }

  @Test func `The file is bounded in sessions and in bytes`() async throws {
    try await withSessionTest { test in
      let store = test.store()
      try store.add(try (0..<1100).map { try test.session("\($0)", age: $0) }, at: test.now)
      #expect(try store.ids(at: test.now) == (0..<1024).map { "\($0)" })
      let long = ["v": String(repeating: "x", count: SessionStore.mostBytes)]
      try store.add([try test.session("long", age: -1, variables: long)], at: test.now)
      #expect(try test.text().utf8.count <= SessionStore.mostBytes)
      #expect(try store.ids(at: test.now) == (0..<1023).map { "\($0)" })
    }
  }

  @Test func `A damaged line costs its own session alone`() async throws {
    try await withSessionTest { test in
      let store = test.store()
      let all = try ["a", "b", "c"].enumerated().map { try test.session($1, age: $0) }
      try store.add(all, at: test.now)
      // A header that would split a request.
      let damaged = try test.text().replacing("/b/list.m3u8", with: "\n").replacing(
        "Bearer é\"}],\"id\":\"c\"", with: "x\\r\\ny: z\"}],\"id\":\"c\"")
      try #require(damaged.contains("\\r\\ny"))
      try Data(damaged.utf8).write(to: URL(filePath: store.path))
      #expect(try store.ids(at: test.now) == ["a"])
    }
  }

  @Test func `A session is stored without the end of its proxy`() async throws {
    try await withSessionTest { test in
      let killed = test.sessions()
      let session = try test.begin("a", in: killed)
      try await test.stored(session)
      // Stored with the next session.
      session.cookies.store(["c=v", "gone=1; Max-Age=0"], from: session.url, at: test.now)
      let second = try test.begin("b", in: killed)
      try await test.stored(second)
      let next = test.sessions()
      await next.refresh()
      let found = try #require(next.session(session.id))
      #expect(next.begun(with: session.headers, for: session.url) === found)
      let sent = found.complete([:], for: session.url)
      #expect(sent["Authorization"] == "é" && sent["Cookie"] == "c=v")
    }
  }

  @Test func `A file that cannot be written or read is reported once`() async throws {
    try await withSessionTest { test in
      try FileManager.default.createDirectory(
        atPath: test.store().path + "/x", withIntermediateDirectories: true)
      let events = test.cache.events()
      let sessions = test.sessions()
      await sessions.refresh()
      for name in ["a", "b"] { try test.begin(name, in: sessions) }
      await sessions.close()
      await test.cache.close()
      var warnings = 0
      for await case .warning(let text) in events where text.contains("sessions of streams") {
        warnings += 1
      }
      #expect(warnings == 1)
    }
  }

  @Test func `A file that is too large is shortened from its end`() async throws {
    try await withSessionTest { test in
      let store = test.store()
      let long = ["v": String(repeating: "x", count: 30_000)]
      let all = try (0..<30).map { try test.session("\($0)", age: 1 + $0, variables: long) }
      try store.add(all, at: test.now)
      var bytes = Data(try test.text().utf8)
      for index in 0..<60 {
        let older = try test.session("older\(index)", age: 100 + index, variables: long)
        bytes += try JSONEncoder().encode(older.record(at: test.now)) + [0x0A]
      }
      try bytes.write(to: URL(filePath: store.path))
      try store.add([try test.session("new", age: -1)], at: test.now)
      #expect(try test.text().utf8.count <= SessionStore.mostBytes)
      #expect(try store.ids(at: test.now).prefix(31) == ["new"] + all.map(\.id))
    }
  }

  @Test func `Expired sessions, and what is none, leave the file when a proxy starts`()
    async throws
  {
    try await withSessionTest { test in
      let all = [try test.session("a"), try test.session("old", age: 100)]
      try test.store().add(all, at: test.now)
      try Data((try test.text() + "{\"version\":2}\nsecret").utf8).write(
        to: URL(filePath: test.store().path))
      test.pass(month - 50)
      await test.sessions().refresh()
      var text = try test.text()
      #expect(text.contains("\"a\"") && !text.contains("old") && !text.contains("secret"))
      // The last one too.
      test.pass(60)
      await test.sessions().refresh()
      text = try test.text()
      #expect(text.isEmpty)
    }
  }

  @Test func `Processes that store sessions at once lose none`() async throws {
    try await withSessionTest { test in
      let now = test.now
      let all = try (0..<12).map { try test.session("\($0)") }
      // Each has a lock of its own, as a process has.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for part in 0..<4 {
          group.addTask {
            try await IOThreads.background.run { () throws in
              let store = test.store()
              for index in 0..<3 { try store.add([all[part * 3 + index]], at: now) }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(Set(try test.store().ids(at: now)) == Set(all.map(\.id)))
    }
  }

  @Test func `The least recently used session makes room`() async throws {
    try await withSessionTest { test in
      let sessions = StreamSessions(test.cache, token: nil)
      func begin(_ index: Int) throws -> StreamSession {
        test.pass(1)
        return try test.begin("\(index)", in: sessions)
      }
      let all = try (0..<SessionStore.capacity).map(begin)
      test.pass(1)
      #expect(sessions.session(all[0].id) === all[0])
      _ = try begin(-1)
      #expect(sessions.session(all[0].id) === all[0] && sessions.session(all[1].id) == nil)
      #expect(sessions.begun(with: all[1].headers, for: all[1].url) == nil)
    }
  }
}
