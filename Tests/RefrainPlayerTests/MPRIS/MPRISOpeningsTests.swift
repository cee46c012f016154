// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Media that are found some time after the calls that play or add them.
  @MainActor
  @Suite(.timeLimit(.minutes(1)))
  struct MPRISOpeningsTests {
    /// A player with three items, and calls whose media the test finds.
    @MainActor private final class Desk {
      let player: Player
      private let openings = MPRISOpenings()
      private var searches: [String: CheckedContinuation<Void, Never>] = [:]
      /// The searches that were cancelled before they ended.
      private(set) var cancelled: [String] = []

      init(_ player: Player) {
        self.player = player
        player.play(["ok-30", "ok-40", "ok-50"].map { ScriptedEngine.media($0) })
      }

      var titles: [String?] { player.queue.items.map(\.media.title) }

      func open(_ name: String, at place: MPRISOpenings.QueuePlace) async throws {
        openings.open(at: place, of: player) { await self.search(name) }
        try await eventually("\(name) is looked up") { searches[name] != nil }
      }

      private func search(_ name: String) async -> [Media] {
        await withCheckedContinuation { searches[name] = $0 }
        if Task.isCancelled { cancelled.append(name) }
        return ["\(name)-1", "\(name)-2"].map { ScriptedEngine.media($0) }
      }

      func find(_ name: String) { searches.removeValue(forKey: name)?.resume() }

      func cancel() { openings.cancel() }
    }

    private func withDesk(_ body: (Desk) async throws -> Void) async throws {
      try await withPlayer { player, _ in try await body(Desk(player)) }
    }

    @Test(arguments: [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"], ["c", "a", "b"]])
    func `The order in the queue is that of the calls, whatever is found first`(
      _ order: [String]
    ) async throws {
      try await withDesk { desk in
        let first = desk.player.queue.items[0].id
        for name in ["a", "b", "c"] {
          try await desk.open(name, at: .after(first, isCurrent: false))
        }
        for (index, name) in order.enumerated() {
          desk.find(name)
          try await eventually("\(name) is there") { desk.titles.count == 5 + 2 * index }
        }
        #expect(
          desk.titles == ["ok-30", "c-1", "c-2", "b-1", "b-2", "a-1", "a-2", "ok-40", "ok-50"])
        #expect(desk.player.queue.currentIndex == 0)
      }
    }

    @Test func `What is called for last is what plays`() async throws {
      try await withDesk { desk in
        try await desk.open("a", at: .after(nil, isCurrent: true))
        try await desk.open("b", at: .now)
        try await desk.open("c", at: .now)
        for name in ["c", "b", "a"] { desk.find(name) }
        try await eventually("all have ended") {
          desk.titles.count == 7 && !desk.cancelled.isEmpty
        }
        #expect(desk.titles == ["a-1", "a-2", "ok-30", "c-1", "c-2", "ok-40", "ok-50"])
        #expect(desk.player.item?.media.title == "c-1")
        #expect(desk.cancelled == ["b"])
      }
    }

    @Test func `Cancelling ends every search`() async throws {
      try await withDesk { desk in
        try await desk.open("a", at: .now)
        try await desk.open("b", at: .after(nil, isCurrent: false))
        desk.cancel()
        for name in ["a", "b"] { desk.find(name) }
        try await eventually("both have ended") { desk.cancelled.count == 2 }
        #expect(desk.titles == ["ok-30", "ok-40", "ok-50"])
      }
    }
  }
#endif
