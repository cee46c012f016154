// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// The stored queue.
@MainActor
@Suite(.timeLimit(.minutes(2)))
struct SavedSessionTests {
  private func session(_ name: String, at position: Double = 0) -> PlayerSession {
    var queue = PlayQueue(seed: 7)
    queue.replace(with: (1...5).map { Media(URL(filePath: "/\(name)-\($0)"), title: "\($0)") })
    queue.setShuffled(true)
    queue.repeatMode = .all
    queue.advance(.asked)
    return PlayerSession(queue: queue, position: position, rate: 1.5, volume: 0.5)
  }

  private func store(_ session: PlayerSession, in saved: SavedSession) async {
    saved.save(session, syncs: false)
    await saved.flush()
  }

  @Test func `A stored queue is found with its order and place`() async throws {
    try await withCache { cache, directory in
      let saved = SavedSession(for: cache)
      #expect(try await saved.load() == nil)
      for position in [0, 1.5, 3] {
        await store(session("a", at: position), in: saved)
        #expect(try await SavedSession(for: cache).load() == session("a", at: position))
      }
      var next = session("a", at: 0.25)
      next.queue.advance(.ended)
      await store(next, in: saved)
      #expect(try await SavedSession(for: cache).load() == next)
      for name in ["queue", "queue-place"] {
        let attributes = try FileManager.default.attributesOfItem(
          atPath: directory.appending(path: "cache/private/\(name)").path())
        #expect(attributes[.posixPermissions] as? Int == 0o600)
      }
      try await cache.removeAll()
      #expect(try await saved.load() == nil)
      // A player that goes on stores its queue again.
      await store(session("a", at: 9), in: saved)
      #expect(try await saved.load() == session("a", at: 9))
    }
  }

  @Test func `The tracks of the current item are stored with the place`() async throws {
    try await withCache { cache, _ async throws in
      let saved = SavedSession(for: cache)
      var session = session("a", at: 5)
      await store(session, in: saved)
      session.audio = .track(number: 2, language: nil)
      session.subtitle = .off
      await store(session, in: saved)
      #expect(try await SavedSession(for: cache).load() == session)
      session.subtitle = nil
      await store(session, in: saved)
      #expect(try await SavedSession(for: cache).load() == session)
    }
  }

  @Test func `A session that an earlier version has stored has no tracks`() throws {
    let session = session("a", at: 5)
    let written = try JSONEncoder().encode(session)
    #expect(!String(decoding: written, as: UTF8.self).contains("audio"))
    #expect(try JSONDecoder().decode(PlayerSession.self, from: written) == session)
  }

  @Test func `A change of the tracks is stored, and goes with the item`() throws {
    var recorder = SessionRecorder()
    var state = PlayerState()
    state.queue = session("a").queue
    (state.status, state.position) = (.playing, .seconds(5))
    let first = recorder.note(state, volume: 1)
    #expect(first?.session.audio == nil)
    let choices = ItemChoices(audio: .track(number: 2, language: nil), subtitle: .off)
    let noted = recorder.note(state, volume: 1, choices: choices)
    let changed = try #require(noted)
    #expect(changed.session.audio == choices.audio && changed.session.subtitle == .off)
    // What fails is left with its choices, which the player then has no more.
    state.status = .failed(MediaCacheError(.unreachable, "It is gone."))
    let failed = recorder.note(state, volume: 1)
    #expect(failed?.session.audio == choices.audio)
    state.queue.advance(.asked)
    state.status = .loading
    let next = recorder.note(state, volume: 1)
    #expect(next?.session.audio == nil)
  }

  @Test func `A place that belongs to another queue, or is damaged, does not count`() async throws {
    try await withCache { cache, directory in
      let place = directory.appending(path: "cache/private/queue-place")
      let saved = SavedSession(for: cache)
      await store(session("a", at: 5), in: saved)
      let older = try Data(contentsOf: place)
      var next = session("a", at: 60)
      next.queue.advance(.asked)
      await store(next, in: saved)
      let newer = try Data(contentsOf: place)
      // A program that ends between the two steps leaves the older place.
      for bytes in [older, newer.prefix(newer.count / 2), Data()] {
        try bytes.write(to: place)
        #expect(try await saved.load() == next)
      }
      try FileManager.default.removeItem(at: place)
      #expect(try await saved.load() == next)
    }
  }

  @Test func `A damaged queue is reported, and replaced by the next one`() async throws {
    try await withCache { cache, directory in
      let file = directory.appending(path: "cache/private/queue")
      await store(session("a", at: 5), in: SavedSession(for: cache))
      let bytes = try Data(contentsOf: file)
      for end in [0, 1, bytes.count / 2, bytes.count - 1] {
        try bytes.prefix(end).write(to: file)
        await #expect(throws: MediaCacheError.self) { try await SavedSession(for: cache).load() }
      }
      await store(session("b"), in: SavedSession(for: cache))
      #expect(try await SavedSession(for: cache).load() == session("b"))
    }
  }

  @Test func `Of two programs, the last one to play wins`() async throws {
    try await withCache { cache, _ in
      let (first, second) = (
        SavedSession(for: cache, in: nil, silence: 60),
        SavedSession(for: cache, in: nil, silence: 60)
      )
      await store(session("a", at: 5), in: first)
      await store(session("b", at: 5), in: second)
      for position in [6.0, 7, 8] {
        await store(session("a", at: position), in: first)
        let found = try await first.load()
        #expect(found?.queue == session("b").queue)
        await store(session("b", at: position), in: second)
        let later = try await first.load()
        #expect(later == session("b", at: position))
      }
    }
  }

  @Test func `The first program takes over when the second one has stopped`() async throws {
    try await withCache { cache, _ in
      // The second program counts as stopped at once.
      let first = SavedSession(for: cache, in: nil, silence: 0)
      await store(session("a", at: 5), in: first)
      await store(session("b", at: 5), in: SavedSession(for: cache))
      await store(session("a", at: 6), in: first)
      let found = try await first.load()
      #expect(found == session("a", at: 6))
    }
  }

  @Test func `Programs that store at the same time damage nothing`() async throws {
    try await withCache { cache, _ in
      let names = ["a", "b", "c"]
      await withTaskGroup(of: Void.self) { group in
        for name in names {
          let sessions = (0..<30).map { session(name, at: Double($0)) }
          group.addTask {
            let saved = SavedSession(for: cache, in: nil, silence: 0)
            for session in sessions {
              saved.save(session, syncs: false)
              await saved.flush()
            }
          }
        }
        for _ in 0..<30 {
          do {
            let found = try await SavedSession(for: cache).load()
            let isOne = names.contains { session($0).queue == found?.queue }
            #expect(found == nil || isOne)
          } catch {
            Issue.record("\(error)")
          }
        }
      }
    }
  }

  @Test func `A queue that was played to its end is stored at its beginning`() {
    var recorder = SessionRecorder()
    var state = PlayerState()
    state.queue = session("a").queue
    state.queue.repeatMode = .off
    (state.status, state.position) = (.playing, .seconds(5))
    #expect(recorder.note(state, volume: 1)?.session.position == 5)
    #expect(recorder.note(state, volume: 1) == nil)
    state.position = .seconds(5.9)
    #expect(recorder.note(state, volume: 1) == nil)
    state.position = .seconds(6)
    #expect(recorder.note(state, volume: 1)?.session.position == 6)
    while state.queue.advance(.ended) != nil {}
    (state.status, state.position) = (.ended, .seconds(10))
    let ended = recorder.note(state, volume: 1)
    #expect(ended?.session.position == 0 && ended?.isFinal == true)
    #expect(ended?.session.queue.current == ended?.session.queue.playOrder.first)
    // Closing the player stops it first.
    (state.status, state.position) = (.idle, .zero)
    #expect(recorder.note(state, volume: 1) == nil)
    #expect(recorder.leave() == nil)
  }
}
