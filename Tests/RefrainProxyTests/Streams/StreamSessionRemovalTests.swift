// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy

/// The file of a proxy's sessions when the user removes everything.
@Suite struct StreamSessionRemovalTests: SessionStoreTest {
  let now = Date.presentSecond

  /// Returns sessions that are stored when they are closed, and never before.
  private func sessions(_ cache: MediaCache) -> (StreamSessions, SessionStore) {
    let now = now
    let store = SessionStore(cache.privateFiles, token: "t")
    let saving = SessionSaving(store, delay: .seconds(3600), now: { now }) { _ in }
    return (StreamSessions(saving: saving, now: { Moment(wall: now, uptime: .now) }), store)
  }

  private func begin(_ sessions: StreamSessions, _ name: String) throws -> StreamSession {
    let url = try #require(URL(string: "https://a.example/\(name).m3u8"))
    return sessions.begin(with: ["Authorization": "x"], for: url)
  }

  private func place(of store: SessionStore) -> URL {
    URL(filePath: store.path).deletingLastPathComponent()
  }

  /// - Parameter isElsewhere: whether to do it as another process does.
  private func removeAll(
    _ cache: MediaCache, _ store: SessionStore, isElsewhere: Bool
  ) async throws {
    guard isElsewhere else {
      try await cache.removeAll()
      return
    }
    let second = try MediaCache(directory: place(of: store).deletingLastPathComponent())
    try await second.removeAll()
    await second.close()
  }

  @Test(arguments: [false, true], [false, true])
  func `What began before a removal is not stored after it`(
    isElsewhere: Bool, hasFile: Bool
  ) async throws {
    try await withCache { cache in
      if hasFile {
        let other = SessionStore(cache.privateFiles, token: "t")
        try other.add([record("earlier")], at: now)
      }
      let (sessions, store) = sessions(cache)
      await sessions.restore()
      let old = try begin(sessions, "old")
      try await removeAll(cache, store, isElsewhere: isElsewhere)
      #expect(!FileManager.default.fileExists(atPath: store.path))
      let new = try begin(sessions, "new")
      await sessions.close()
      #expect(store.read(at: now).records.map(\.id) == [new.id])
      let text = try String(contentsOfFile: store.path, encoding: .utf8)
      #expect(!text.contains(old.id) && !text.contains("earlier"))
      #expect(try begin(sessions, "old") !== old)
    }
  }

  @Test func `A removal counts even if it is the first thing that a proxy reads`() async throws {
    try await withCache { cache in
      let (sessions, store) = sessions(cache)
      _ = try begin(sessions, "old")
      try await cache.removeAll()
      await sessions.restore()
      await sessions.close()
      #expect(!FileManager.default.fileExists(atPath: store.path))
    }
  }

  @Test func `A cookie that came before a removal is not stored after it`() async throws {
    try await withCache { cache in
      let (sessions, store) = sessions(cache)
      let url = try #require(URL(string: "https://a.example/list.m3u8"))
      let fields: HeaderFields = ["Content-Type": "audio/mpegurl", "Set-Cookie": "c=secret"]
      sessions.observer.received(fields, from: url)
      try await cache.removeAll()
      let cookies = try #require(sessions.takeCookies(of: [:], for: url).first)
      sessions.begin(with: [:], for: url, since: cookies.time).store(
        cookies: cookies.fields, from: url)
      await sessions.close()
      #expect(!FileManager.default.fileExists(atPath: store.path))
    }
  }

  @Test func `A file written late by a process that was stopped is not used`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("secret")], at: now)
      let file = URL(filePath: store.path)
      let bytes = try Data(contentsOf: file)
      try await cache.removeAll()
      try bytes.write(to: file)
      let (sessions, other) = sessions(cache)
      #expect(other.read(at: now).records.isEmpty)
      await sessions.restore()
      #expect(sessions.session("secret") == nil)
      await sessions.close()
      #expect(try !String(contentsOf: file, encoding: .utf8).contains("secret"))
    }
  }

  @Test(arguments: ["", "{", String(repeating: "x", count: 5000)])
  func `A damaged record of the removal counts as another removal`(text: String) async throws {
    try await withCache { cache in
      try await cache.removeAll()
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("a")], at: now)
      try Data(text.utf8).write(to: place(of: store).appending(path: "removal"))
      #expect(store.read(at: now).records.isEmpty)
      try store.add([record("b")], at: now)
      #expect(store.read(at: now).records.map(\.id) == ["b"])
    }
  }

  @Test func `The record of a removal outlives the files of unused tokens`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      try store.add([record("a")], at: now)
      try await cache.removeAll()
      let later = now.addingTimeInterval(SessionStore.longestUnused + 3600)
      #expect(store.read(at: later).problem == nil)
      let names = try FileManager.default.contentsOfDirectory(atPath: place(of: store).path())
      #expect(Set(names) == ["lock", "removal"])
    }
  }

  @Test func `Sessions that the user removed are not stored again`() async throws {
    try await withCache { cache in
      let store = SessionStore(cache.privateFiles, token: "t")
      let other = SessionStore(cache.privateFiles, token: "t")
      #expect(try store.add([record("a")], at: now) == [])
      #expect(try store.add([record("a"), record("b")], at: now) == [])
      try await cache.removeAll()
      #expect(try store.add([record("a"), record("b")], at: now) == ["a", "b"])
      #expect(!FileManager.default.fileExists(atPath: store.path))
      let three = [record("a"), record("b"), record("new")]
      #expect(try store.add(three, at: now) == ["a", "b"])
      #expect(store.read(at: now).records.map(\.id) == ["new"])
      // Removed again, and made by another process.
      try await cache.removeAll()
      try other.add([record("c")], at: now)
      let removed = try store.add([record("new"), record("newest")], at: now)
      #expect(removed == ["new"])
      #expect(Set(store.read(at: now).records.map(\.id)) == ["c", "newest"])
      // A damaged file was not removed by the user.
      try Data("x".utf8).write(to: URL(filePath: store.path))
      #expect(try store.add([record("newest")], at: now).isEmpty)
      #expect(store.read(at: now).records.map(\.id) == ["newest"])
    }
  }

  @Test(arguments: [false, true])
  func `A removed session plays on, and its stream begins another one`(
    isElsewhere: Bool
  ) async throws {
    try await withCache { cache in
      let (sessions, store) = sessions(cache)
      let old = try begin(sessions, "list")
      #expect(try begin(sessions, "list") === old)
      try await removeAll(cache, store, isElsewhere: isElsewhere)
      if isElsewhere { await sessions.noticeRemoval() }
      #expect(sessions.session(old.id) === old)
      #expect(sessions.begun(with: old.headers, for: old.url) == nil)
      let new = try begin(sessions, "list")
      #expect(new !== old)
      await sessions.noticeRemoval()
      #expect(try begin(sessions, "list") === new)
      await sessions.close()
      #expect(store.read(at: now).records.map(\.id) == [new.id])
    }
  }
}
