// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy
@testable import RefrainStreams

/// Sessions that another proxy over the same cache has begun.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionFindingTests {
  @Test func `All requests of one unknown session find it at once`() async throws {
    try await withSessionTest { test in
      let (old, new) = (test.sessions(), test.sessions())
      let session = try test.begin("a", in: old)
      try await test.stored(session)
      let id = session.id
      let found = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<50 {
          group.addTask { await new.find(id)?.headers["Authorization"] == "é" }
        }
        return await group.reduce(into: 0) { if $1 { $0 += 1 } }
      }
      #expect(found == 50)
    }
  }

  @Test func `A session that is stored just after the last reading is found`() async throws {
    try await withSessionTest { test in
      let (old, new) = (test.sessions(), test.sessions())
      for name in ["a", "b"] {
        #expect(await new.find("unknown") == nil)
        let session = try test.begin(name, in: old)
        try await test.stored(session)
        #expect(await new.find(session.id)?.url == session.url)
      }
    }
  }

  @Test func `A session that another proxy has used since is read again`() async throws {
    try await withSessionTest { test in
      let (old, new) = (test.sessions(), test.sessions())
      let session = try test.begin("a", in: old)
      try await test.stored(session)
      await new.refresh()
      let found = try #require(new.session(session.id))
      test.pass(60)
      #expect(old.session(session.id) === session)
      session.cookies.store(["c=v"], from: session.url, at: test.now)
      session.define(["x": "1"])
      await old.close()
      await new.refresh()
      #expect(found.complete([:], for: session.url)["Cookie"] == "c=v")
      #expect(found.importable == ["x": "1"])
      #expect(new.begun(with: session.headers, for: session.url) === found)
      // What was used here last stays.
      test.pass(60)
      #expect(new.session(session.id) === found && found.define(["x": "2"]))
      await new.refresh()
      #expect(found.importable == ["x": "2"])
    }
  }
}
