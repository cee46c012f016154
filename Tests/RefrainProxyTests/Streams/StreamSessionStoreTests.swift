// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

@testable import RefrainProxy

/// The file of a proxy's sessions.
@Suite struct StreamSessionStoreTests: SessionStoreTest {
  let now = Date.presentSecond

  @Test func `Sessions are read as they were stored`() async throws {
    try await withCache { cache in
      let records = [
        record("a", variables: ["host": "https://a.example/\n\""]),
        record("b", age: 10, expires: now.addingTimeInterval(100.5)),
      ]
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add(records, at: now)
      let contents = store.read(at: now)
      #expect(contents.records == records && contents.problem == nil)
      #expect(SessionStore(cache.privateFiles, token: "u").read(at: now).records.isEmpty)
    }
  }

  @Test func `Two proxies with one token keep the sessions of both`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("a"), record("both", age: 5)], at: now)
      let newer = record("both", age: 1, variables: ["x": "1"])
      try SessionStore(cache.privateFiles, token: "t").add(
        [record("b", age: 2), newer], at: now)
      try store.add([record("a"), record("both", age: 5)], at: now)
      let records = store.read(at: now).records
      #expect(records.map(\.id) == ["a", "both", "b"] && records[1] == newer)
    }
  }

  @Test func `A session unused for a month is dropped`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      let month = SessionStore.longestUnused
      try store.add([record("a", age: month - 2), record("b", age: -1e9)], at: now)
      #expect(store.read(at: now).records.map(\.id) == ["b", "a"])
      #expect(store.read(at: now.addingTimeInterval(5)).records.map(\.id) == ["b"])
      // A clock that was wrong keeps no session for ever.
      let records = store.read(at: now).records
      try store.add(records, at: now)
      #expect(store.read(at: now.addingTimeInterval(month + 1)).records.isEmpty)
    }
  }

  @Test func `The file of a token that is not used any more is removed`() async throws {
    try await withCache { cache in
      let old = SessionStore(cache.privateFiles, token: "old")
      try old.add([record("a")], at: now)
      let later = now.addingTimeInterval(SessionStore.longestUnused + 3600)
      let new = SessionStore(cache.privateFiles, token: "new")
      #expect(new.read(at: now).problem == nil)
      #expect(FileManager.default.fileExists(atPath: old.path))
      #expect(new.read(at: later).problem == nil)
      #expect(!FileManager.default.fileExists(atPath: old.path))
    }
  }

  @Test func `The positions and the queue of a player stay, however old`() async throws {
    try await withCache { cache in
      let files = cache.privateFiles
      let names = ["position-0123456789abcdef", "queue", "queue-place", "languages"]
      let old = SessionStore(cache.privateFiles, token: "old")
      try old.add([record("a")], at: now)
      for name in names {
        try files.replace(name, with: [1])
        try FileManager.default.setAttributes(
          [.modificationDate: now - 40 * 86_400], ofItemAtPath: files.path(of: name))
      }
      try FileManager.default.setAttributes(
        [.modificationDate: now - 40 * 86_400], ofItemAtPath: old.path)
      #expect(SessionStore(files, token: "t").read(at: now).problem == nil)
      #expect(!FileManager.default.fileExists(atPath: old.path))
      #expect(try names.allSatisfy { try files.contents(of: $0, limit: 1) != nil })
    }
  }

  @Test func `The file is bounded in sessions and in bytes`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add((0..<1100).map { record("\($0)", age: Double($0)) }, at: now)
      #expect(store.read(at: now).records.map(\.id) == (0..<1024).map { "\($0)" })
      let long = ["v": String(repeating: "x", count: SessionStore.mostBytes)]
      try store.add([record("long", age: -1, variables: long)], at: now)
      let attributes = try FileManager.default.attributesOfItem(atPath: store.path)
      let size = try #require(attributes[.size] as? Int)
      #expect(size <= SessionStore.mostBytes)
      #expect(store.read(at: now).records.count == 1024)
    }
  }

  @Test func `A damaged line costs its own session alone`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("a"), record("b", age: 1), record("c", age: 2)], at: now)
      let text = try String(contentsOfFile: store.path, encoding: .utf8)
      // A header that would split a request.
      let damaged = text.replacing("/b/list.m3u8", with: "\n").replacing(
        "Bearer é\"}],\"id\":\"c\"", with: "x\\r\\ny: z\"}],\"id\":\"c\"")
      try #require(damaged.contains("\\r\\ny"))
      try Data(damaged.utf8).write(to: URL(filePath: store.path))
      let contents = store.read(at: now)
      #expect(contents.records.map(\.id) == ["a"] && contents.problem != nil)
    }
  }

  @Test func `A session is stored without the end of its proxy`() async throws {
    try await withCache { cache in
      let (now, warnings) = (now, Shared<[String]>([]))
      func sessions() -> StreamSessions {
        let saving = SessionSaving(
          SessionStore(cache.privateFiles, token: "t"), delay: .zero, pause: .zero,
          now: { now }
        ) { text in warnings.change { $0.append(text) } }
        return StreamSessions(saving: saving, now: { Moment(wall: now, uptime: .now) })
      }
      let url = try #require(URL(string: "https://a.example/list.m3u8"))
      let killed = sessions()
      let session = killed.begin(with: ["Authorization": "x"], for: url)
      await killed.settle()
      session.store(cookies: ["c=v", "gone=1; Max-Age=0"], from: url)
      await killed.settle()
      let next = sessions()
      await next.restore()
      let found = try #require(next.session(session.id))
      #expect(next.begun(with: ["Authorization": "x"], for: url) === found)
      let sent = found.complete([:], for: url)
      #expect(sent["Authorization"] == "x" && sent["Cookie"] == "c=v")
      #expect(warnings.value.isEmpty)
    }
  }

  @Test func `A file that cannot be written or read is reported once`() async throws {
    try await withCache { cache in
      let (now, warnings) = (now, Shared<[String]>([]))
      let store = SessionStore(cache.privateFiles, token: "t")
      try FileManager.default.createDirectory(
        atPath: store.path + "/x", withIntermediateDirectories: true)
      let saving = SessionSaving(store, delay: .zero, now: { now }) { text in
        warnings.change { $0.append(text) }
      }
      let sessions = StreamSessions(saving: saving, now: { Moment(wall: now, uptime: .now) })
      await sessions.restore()
      #expect(warnings.value.count == 1)
      for path in ["a", "b"] {
        let url = try #require(URL(string: "https://a.example/\(path).m3u8"))
        _ = sessions.begin(with: ["Authorization": "x"], for: url)
        await sessions.settle()
      }
      #expect(warnings.value.count == 2)
    }
  }

  @Test func `A file that is too large is shortened from its end`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      let long = ["v": String(repeating: "x", count: 30_000)]
      let records = (0..<30).map { record("\($0)", age: Double($0), variables: long) }
      try store.add(records, at: now)
      let encoder = JSONEncoder()
      encoder.dateEncodingStrategy = .secondsSince1970
      var bytes = try Data(contentsOf: URL(filePath: store.path))
      for index in 0..<60 {
        let older = record("older\(index)", age: 100 + Double(index), variables: long)
        bytes += try encoder.encode(older) + [0x0A]
      }
      try bytes.write(to: URL(filePath: store.path))
      let contents = store.read(at: now)
      let ids = records.map(\.id)
      #expect(Array(contents.records.map(\.id).prefix(30)) == ids && contents.problem != nil)
      #expect(contents.records.count < 90)
      try store.add([record("new", age: -1)], at: now)
      #expect(try Data(contentsOf: URL(filePath: store.path)).count <= SessionStore.mostBytes)
      let shortened = store.read(at: now)
      #expect(Array(shortened.records.map(\.id).prefix(31)) == ["new"] + ids)
      #expect(shortened.problem == nil)
    }
  }

  @Test func `Expired sessions leave the file when a proxy starts`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("a"), record("old", age: 100)], at: now)
      let later = now.addingTimeInterval(SessionStore.longestUnused - 50)
      let saving = SessionSaving(store, delay: .zero, now: { later }) { _ in }
      let sessions = StreamSessions(saving: saving, now: { Moment(wall: later, uptime: .now) })
      await sessions.restore()
      await sessions.settle()
      let text = try String(contentsOfFile: store.path, encoding: .utf8)
      #expect(text.contains("\"a\"") && !text.contains("old"))
      // The last one too.
      let end = later.addingTimeInterval(60)
      let last = SessionSaving(store, delay: .zero, now: { end }) { _ in }
      let none = StreamSessions(saving: last, now: { Moment(wall: end, uptime: .now) })
      await none.restore()
      await none.settle()
      #expect(try !String(contentsOfFile: store.path, encoding: .utf8).contains("\"a\""))
    }
  }

  @Test func `A file that cannot be read is emptied a month after its last change`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("a")], at: now)
      let file = URL(filePath: store.path)
      try Data("{\"version\":2}\nsecret".utf8).write(to: file)
      for (age, isLeft) in [(0, true), (SessionStore.longestUnused + 60, false)] {
        let time = now + age
        let saving = SessionSaving(store, delay: .zero, now: { time }) { _ in }
        let sessions = StreamSessions(saving: saving, now: { Moment(wall: time, uptime: .now) })
        await sessions.restore()
        await sessions.settle()
        #expect(try String(contentsOf: file, encoding: .utf8).contains("secret") == isLeft)
      }
    }
  }

  @Test func `Processes that store sessions at once lose none`() async throws {
    try await withCache { cache in
      let now = now
      let files = cache.privateFiles
      let records = (0..<12).map { record("\($0)") }
      // Each has a lock of its own, as a process has.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for part in 0..<4 {
          group.addTask {
            try await IOThreads.background.run { () throws in
              let store = SessionStore(files, token: "t")
              for index in 0..<3 {
                try store.add([records[part * 3 + index]], at: now)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      let found = SessionStore(files, token: "t").read(at: now).records
      #expect(Set(found.map(\.id)) == Set(records.map(\.id)))
    }
  }

  @Test func `A session in steady use is stored once a day`() throws {
    let (changes, start) = (Shared(0), now)
    let url = try #require(URL(string: "https://a.example/list.m3u8"))
    let session = StreamSession(id: "s", headers: [:], for: url, at: start) {
      changes.change { $0 += 1 }
    }
    for hour in 1...49 { session.noteUse(at: start + Double(hour) * 3600) }
    #expect(changes.value == 2)
    // Stored for another reason.
    _ = session.record(at: start + 49 * 3600)
    for hour in 50...72 { session.noteUse(at: start + Double(hour) * 3600) }
    #expect(changes.value == 2)
  }

  @Test func `A new session is stored soon, and a new cookie only after a pause`() async throws {
    try await withCache { cache in
      let now = now
      let store = SessionStore(cache.privateFiles, token: "t")
      let saving = SessionSaving(store, delay: .zero, pause: .seconds(3600), now: { now }) { _ in }
      let sessions = StreamSessions(saving: saving, now: { Moment(wall: now, uptime: .now) })
      let urls = try ["a", "b"].map { try #require(URL(string: "https://a.example/\($0).m3u8")) }
      let first = sessions.begin(with: ["Authorization": "x"], for: urls[0])
      await sessions.settle()
      func stored() -> [SessionRecord] { store.read(at: now).records }
      #expect(stored().count == 1)
      first.store(cookies: ["c=v"], from: urls[0])
      #expect(stored().first?.cookies.isEmpty == true)
      // Waits for the second session's write, not for the cookie's.
      _ = sessions.begin(with: ["Authorization": "x"], for: urls[1])
      await sessions.settle()
      #expect(stored().count == 2 && stored().contains { !$0.cookies.isEmpty })
      first.store(cookies: ["c=w"], from: urls[0])
      await sessions.close()
      #expect(stored().contains { $0.cookies.first?.pair.value == "w" })
    }
  }

  @Test func `The least recently used session makes room`() throws {
    let time = Shared(now)
    let sessions = StreamSessions(now: { Moment(wall: time.value, uptime: .now) })
    func begin(_ index: Int) throws -> StreamSession {
      time.change { $0 += 1 }
      let url = try #require(URL(string: "https://a.example/\(index).m3u8"))
      return sessions.begin(with: ["Authorization": "x"], for: url)
    }
    let all = try (0..<SessionStore.capacity).map(begin)
    time.change { $0 += 1 }
    #expect(sessions.session(all[0].id) === all[0])
    _ = try begin(-1)
    #expect(sessions.session(all[0].id) === all[0] && sessions.session(all[1].id) == nil)
    #expect(sessions.begun(with: ["Authorization": "x"], for: all[1].url) == nil)
  }

  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func `The hash of a token is SHA-256`(text: String, expected: String) {
    #expect(SHA256.hexadecimal(of: Array(text.utf8)) == expected)
  }
}
