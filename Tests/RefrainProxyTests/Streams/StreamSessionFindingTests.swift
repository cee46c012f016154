// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Testing

@testable import RefrainProxy

/// Sessions that another proxy over the same cache has begun.
@Suite(.timeLimit(.minutes(1))) struct StreamSessionFindingTests: SessionStoreTest {
  let now = Date.presentSecond

  /// A clock that moves only while somebody waits for it.
  private final class Clock: Sendable {
    private let state: Shared<Moment>
    let pauses = Shared<[Duration]>([])

    init(_ wall: Date) { state = Shared(Moment(wall: wall, uptime: .now)) }

    var time: Moment { state.value }

    func pass(_ duration: Duration) {
      pauses.change { $0.append(duration) }
      state.change { time in
        let seconds = duration / .seconds(1)
        time = Moment(wall: time.wall + seconds, uptime: time.uptime + seconds)
      }
    }
  }

  private func sessions(_ cache: MediaCache, _ clock: Clock) -> StreamSessions {
    let saving = SessionSaving(
      SessionStore(cache.privateFiles, token: "t"), delay: .zero, now: { clock.time.wall }
    ) { _ in }
    return StreamSessions(saving: saving, now: { clock.time }, pause: { clock.pass($0) })
  }

  private func begin(_ name: String, in sessions: StreamSessions) async throws -> StreamSession {
    let url = try #require(URL(string: "https://a.example/\(name).m3u8"))
    let session = sessions.begin(with: ["Authorization": name], for: url)
    await sessions.settle()
    return session
  }

  @Test func `All requests of one unknown session find it at once`() async throws {
    try await withCache { cache in
      let clock = Clock(now)
      let id = try await begin("a", in: sessions(cache, clock)).id
      let new = sessions(cache, clock)
      let found = await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<50 {
          group.addTask { await new.find(id)?.headers["Authorization"] == "a" }
        }
        return await group.reduce(into: 0) { if $1 { $0 += 1 } }
      }
      #expect(found == 50)
    }
  }

  @Test func `A session that is stored just after the last reading is found`() async throws {
    try await withCache { cache in
      let clock = Clock(now)
      let (old, new) = (sessions(cache, clock), sessions(cache, clock))
      #expect(await new.find("unknown") == nil)
      #expect(clock.pauses.value.isEmpty)
      let id = try await begin("a", in: old).id
      #expect(await new.find(id)?.id == id)
      // Known now.
      #expect(await new.find(id)?.id == id)
      #expect(clock.pauses.value.count == 1)
      #expect(clock.pauses.value.allSatisfy { $0 > .milliseconds(900) && $0 <= .seconds(1) })
    }
  }

  @Test func `A session that another proxy has used since is read again`() async throws {
    try await withCache { cache in
      let clock = Clock(now)
      let old = sessions(cache, clock)
      let session = try await begin("a", in: old)
      let new = sessions(cache, clock)
      await new.restore()
      let before = try #require(new.session(session.id))
      clock.pass(.seconds(60))
      #expect(old.session(session.id) === session)
      session.store(cookies: ["c=v"], from: session.url)
      await old.close()
      await new.restore()
      let after = try #require(new.session(session.id))
      #expect(after.complete([:], for: session.url)["Cookie"] == "c=v")
      #expect(new.begun(with: session.headers, for: session.url) === after)
      // What is used here stays.
      await new.restore()
      #expect(new.session(session.id) === after && after !== before)
    }
  }
}
