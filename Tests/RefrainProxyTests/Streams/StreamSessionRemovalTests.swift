// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// The file of a proxy's sessions when the user removes everything.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionRemovalTests {
  private func directory(_ test: SessionTest) -> URL {
    URL(filePath: test.store().path).deletingLastPathComponent()
  }

  /// - Parameter isElsewhere: whether to do it as another process does.
  private func removeAll(_ test: SessionTest, isElsewhere: Bool = false) async throws {
    test.pass(1)
    if isElsewhere {
      var configuration = MediaCache.Configuration()
      configuration.clock = { test.time.value }
      let second = try MediaCache(
        directory: directory(test).deletingLastPathComponent(), configuration: configuration)
      try await second.removeAll()
      await second.close()
    } else {
      try await test.cache.removeAll()
    }
    test.pass(1)
  }

  @Test(arguments: [false, true], [false, true])
  func `What began before a removal is not stored after it`(
    isElsewhere: Bool, hasFile: Bool
  ) async throws {
    try await withSessionTest { test in
      if hasFile { try test.store().add([try test.session("earlier")], at: test.now) }
      let sessions = test.sessions()
      await sessions.refresh()
      let old = try test.begin("old", in: sessions)
      try await removeAll(test, isElsewhere: isElsewhere)
      #expect(!test.hasFile)
      let new = try test.begin("new", in: sessions)
      await sessions.close()
      #expect(try test.store().ids(at: test.now) == [new.id])
      let text = try test.text()
      #expect(!text.contains(old.id) && !text.contains("earlier"))
      #expect(try test.begin("old", in: sessions) !== old)
    }
  }

  @Test func `A removal counts even if it is the first thing that a proxy reads`() async throws {
    try await withSessionTest { test in
      let sessions = test.sessions()
      try test.begin("old", in: sessions)
      try await removeAll(test)
      await sessions.refresh()
      await sessions.close()
      #expect(!test.hasFile)
    }
  }

  @Test func `A cookie that came before a removal is not stored after it`() async throws {
    try await withSessionTest { test in
      let sessions = test.sessions()
      let url = try #require(URL(string: "https://a.example/list.m3u8"))
      let before = test.cache.cookies(of: Resource(url: url))
      test.cache.cookieObserver(of: Resource(url: url)).received(
        ["Set-Cookie": "c=secret"], from: url)
      #expect(before.all(at: test.now).map(\.value) == ["secret"])
      try await removeAll(test)
      #expect(test.cache.cookies(of: Resource(url: url)).all(at: test.now).isEmpty)
      // A request that began before the removal.
      _ = sessions.begin(with: [:], for: url, before)
      await sessions.close()
      #expect(!test.hasFile)
    }
  }

  @Test func `The record of a removal outlives the files of unused tokens`() async throws {
    try await withSessionTest { test in
      try test.store().add([try test.session("a")], at: test.now)
      try await removeAll(test)
      let later = test.now + Double(SessionStore.longestUnused) + 3600
      #expect(try test.store().ids(at: later).isEmpty)
      let names = try FileManager.default.contentsOfDirectory(atPath: directory(test).path())
      #expect(Set(names) == ["lock", "removal"])
    }
  }

  @Test func `Sessions that the user removed are not stored again`() async throws {
    try await withSessionTest { test in
      let (store, other) = (test.store(), test.store())
      let (a, b) = (try test.session("a"), try test.session("b"))
      func removed(_ sessions: StreamSession...) throws -> Set<String> {
        Set(try store.add(sessions, at: test.now).removed.map(\.id))
      }
      #expect(try removed(a) == [])
      #expect(try removed(a, b) == [])
      try await removeAll(test)
      #expect(try removed(a, b) == ["a", "b"])
      #expect(try test.store().ids(at: test.now).isEmpty)
      let new = try test.session("new")
      #expect(try removed(a, b, new) == ["a", "b"])
      #expect(try store.ids(at: test.now) == ["new"])
      // Removed again, and made by another process.
      try await removeAll(test)
      try other.add([try test.session("c")], at: test.now)
      let newest = try test.session("newest")
      #expect(try removed(new, newest) == ["new"])
      #expect(Set(try store.ids(at: test.now)) == ["c", "newest"])
      // A damaged file was not removed by the user.
      try Data("x".utf8).write(to: URL(filePath: store.path))
      #expect(try removed(newest) == [])
      #expect(try store.ids(at: test.now) == ["newest"])
    }
  }

  @Test(arguments: [false, true])
  func `A removed session plays on, and its stream begins another one`(
    isElsewhere: Bool
  ) async throws {
    try await withSessionTest { test in
      let sessions = test.sessions()
      let old = try test.begin("list", in: sessions)
      #expect(try test.begin("list", in: sessions) === old)
      try await removeAll(test, isElsewhere: isElsewhere)
      if isElsewhere { await sessions.refresh() }
      #expect(sessions.session(old.id) === old)
      #expect(sessions.begun(with: old.headers, for: old.url) == nil)
      let new = try test.begin("list", in: sessions)
      #expect(new !== old)
      await sessions.refresh()
      #expect(try test.begin("list", in: sessions) === new)
      await sessions.close()
      #expect(try test.store().ids(at: test.now) == [new.id])
    }
  }
}
