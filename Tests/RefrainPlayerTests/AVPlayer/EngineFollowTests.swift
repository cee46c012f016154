// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(TestSeed.minutes(2)))) struct EngineFollowTests {
    @Test func `The following item plays without a gap`() async throws {
      try await AppleListening.with { listening in
        let (one, two) = (
          listening.item("/a.wav", seconds: 5), listening.item("/b.wav", seconds: 7)
        )
        try await listening.start(one)
        listening.engine.follow(with: two)
        let following = listening.engine.player.items().last
        // Set again, it is kept.
        listening.engine.follow(with: two)
        #expect(listening.engine.player.items().last === following)
        try await listening.loaded()
        await listening.pass(8)
        #expect(
          listening.steps == [
            .began(one.id), .duration(one.id, .seconds(5)), .ready(one.id, at: .zero),
            .ended(one.id, followedBy: two.id), .began(two.id), .duration(two.id, .seconds(7)),
            .ready(two.id, at: .seconds(0)),
          ])
        #expect(listening.positions.last == .seconds(3))
        await listening.pass(5)
        #expect(listening.events.last == .ended(two.id, followedBy: nil))
      }
    }

    @Test func `A following item set after a transition follows the current item`() async throws {
      try await AppleListening.with { listening in
        let items = (0..<3).map { listening.item("/\($0).wav", seconds: 5) }
        try await listening.start(items[0])
        listening.engine.follow(with: items[1])
        try await listening.loaded()
        listening.engine.player.standInAdvance(6)
        // The engine has not reported the item yet.
        listening.engine.follow(with: items[2])
        await listening.settle()
        #expect(listening.events.contains(.ended(items[0].id, followedBy: items[1].id)))
        try await listening.loaded()
        await listening.pass(5)
        #expect(listening.events.contains(.ended(items[1].id, followedBy: items[2].id)))
        #expect(listening.positions.last == .seconds(1))
      }
    }

    @Test func `The following item can be set within the report of a beginning`() async throws {
      try await AppleListening.with { listening in
        let items = (0..<30).map { listening.item("/\($0 % 3).wav", seconds: 2) }
        var (index, order) = (0, [EngineItem.ID]())
        let engine = listening.engine
        engine.report = { event in
          guard case .began(let id) = event else { return }
          order.append(id)
          index += 1
          engine.follow(with: index < items.count ? items[index] : nil)
        }
        engine.load(items[0], at: .zero, isPaused: false)
        try await eventually("all were played") {
          engine.player.standInAdvance(0.5)
          await listening.settle()
          return order.count == items.count
        }
        #expect(order == items.map(\.id))
      }
    }
  }
#endif
