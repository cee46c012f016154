// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// Random calls of a client, compared with a model of the player.
  @MainActor
  @Suite(.enabled(if: TestBus.isUsable), .timeLimit(.minutes(TestSeed.minutes(2))))
  struct MPRISModelTests {
    private let names = (1...9).map { "ok-\($0 * 10)" }

    @Test func `A thousand calls lead to what the model expects`() async throws {
      let seed = TestSeed.next()
      print("MPRIS calls: REFRAIN_SEED=\(seed)")
      try await BusPlayer.with { player, _, client in
        var random = SeededGenerator(seed: seed)
        var model = MPRISModel(queue: player.player.queue)
        var shown = ShownProperties()
        try await client.listen()
        for interface in MPRISInterface.allCases {
          shown.merge(try await client.all(interface))
        }
        for step in 0..<(TestSeed.isSoak ? 20_000 : 1_000) {
          let call = try await call(&model, client, &random)
          player.settle()
          pass(player, &model, &random)
          let found = try await properties(client, once: expected(of: model))
          let place = "step \(step), \(call), REFRAIN_SEED=\(seed)"
          #expect(found == expected(of: model), "\(place)")
          guard found == expected(of: model) else { return }
          if step % 10 == 9 {
            let tracks = model.queue.items.map { BusItem.text(MPRISTrackID.path($0.id)) }
            #expect(try await client.get(.tracks) == .list(tracks), "\(place)")
          }
          if step % 100 == 99 {
            // A client that only listens knows the same, a little after the answers.
            try await eventually("the signals agree, \(place)") {
              for signal in try await client.signals() { shown.take(signal) }
              let found = try await client.all(.player)
              return shown.agrees(with: found)
            }
          }
        }
      }
    }

    /// Returns the properties as soon as they are the expected ones, or after ten seconds: what an
    /// engine does by itself is shown a little later.
    private func properties(
      _ client: BusClient, once expected: [String: BusItem]
    ) async throws -> [String: BusItem] {
      let end = ContinuousClock.now + .seconds(10)
      while true {
        let found = try await client.all(.player)
        if found == expected || ContinuousClock.now > end { return found }
      }
    }

    /// Makes a random call, and has the model do the same. Returns a description.
    private func call(
      _ model: inout MPRISModel, _ client: BusClient, _ random: inout SeededGenerator
    ) async throws -> String {
      let track = track(model, &random)
      // An odd number is no end of a track.
      let time = Int64.random(in: -60_000_000...100_000_000, using: &random) | 1
      let media = ScriptedEngine.media(names.randomElement(using: &random) ?? "ok-10")
      let uri = media.url.absoluteString
      let isWanted = Bool.random(using: &random)
      // The media of a URI has no title.
      var plain = media
      plain.title = nil
      switch Int.random(in: 0..<20, using: &random) {
      case 0, 1:
        try await client.perform(.next)
        model.next()
        return "next"
      case 2, 3:
        try await client.perform(.previous)
        model.previous()
        return "previous"
      case 4:
        try await client.perform(.pause)
        model.pause()
        return "pause"
      case 5:
        // Refused without a track.
        _ = try? await client.perform(.playPause)
        model.playPause()
        return "playPause"
      case 6:
        try await client.perform(.stop)
        model.stop()
        return "stop"
      case 7, 8:
        try await client.perform(.play)
        model.play()
        return "play"
      case 9, 10:
        let far = isWanted ? time : Int64.random(in: .min ... .max, using: &random)
        try await client.perform(.seek, .int64(far))
        model.seek(by: far)
        return "seek by \(far)"
      case 11:
        let current = isWanted ? MPRISTrackID.path(model.queue.current) : track
        try await client.perform(.setPosition, .path(current), .int64(time))
        model.setPosition(current, time)
        return "position \(time) of \(current)"
      case 12:
        guard model.queue.items.count < 12 else { return "nothing" }
        try await client.perform(.openURI, .string(uri))
        model.open(plain)
        return "open"
      case 13:
        guard model.queue.items.count < 12 else { return "nothing" }
        try await client.perform(.addTrack, .string(uri), .path(track), .bool(isWanted))
        model.add(plain, after: track, isCurrent: isWanted)
        return "add after \(track), \(isWanted)"
      case 14:
        try await client.perform(.removeTrack, .path(track))
        model.remove(track)
        return "remove \(track)"
      case 15:
        try await client.perform(.goTo, .path(track))
        model.goTo(track)
        return "go to \(track)"
      case 16:
        let volume = Double.random(in: -0.5...1.5, using: &random)
        try await client.set(.volume, .double(volume))
        model.volume = min(max(volume, 0), 1)
        return "volume \(volume)"
      case 17:
        let rate = isWanted ? 0 : Double.random(in: -1...6, using: &random)
        try await client.set(.rate, .double(rate))
        model.set(rate: rate)
        return "rate \(rate)"
      case 18:
        let mode = PlayQueue.RepeatMode.allCases.randomElement(using: &random) ?? .off
        try await client.set(.loopStatus, .string(mode.loopStatus))
        model.queue.repeatMode = mode
        return "loop \(mode)"
      default:
        try await client.set(.isShuffled, .bool(isWanted))
        model.queue.setShuffled(isWanted)
        return "shuffle \(isWanted)"
      }
    }

    /// Returns a track of the queue, or now and then another path.
    private func track(_ model: MPRISModel, _ random: inout SeededGenerator) -> String {
      let others = [MPRISTrackID.none, "/refrain/track/9999999", "/"]
      let item = model.queue.items.randomElement(using: &random)
      guard let item, Int.random(in: 0..<6, using: &random) > 0 else {
        return others.randomElement(using: &random) ?? "/"
      }
      return MPRISTrackID.path(item.id)
    }

    /// Lets some time pass.
    private func pass(
      _ player: BusPlayer, _ model: inout MPRISModel, _ random: inout SeededGenerator
    ) {
      guard model.playback == .playing else { return }
      switch Int.random(in: 0..<12, using: &random) {
      case 0...3:
        player.engine.take(.tick)
        model.tick()
      case 4 where player.engine.possible.contains(.end):
        player.engine.take(.end)
        model.finish()
        player.settle()
      default: break
      }
    }

    private func expected(of model: MPRISModel) -> [String: BusItem] {
      var fields: [String: BusItem] = ["mpris:trackid": .text(MPRISTrackID.none)]
      if let item = model.queue.current {
        let name = item.media.url.lastPathComponent
        fields = [
          "mpris:trackid": .text(MPRISTrackID.path(item.id)), "xesam:title": .text(name),
          "xesam:url": .text("file:///\(name)"),
        ]
        // Not known of a track that has not begun.
        if model.playback != .stopped || model.hasEnded {
          fields["mpris:length"] = model.length.map { .number($0) }
        }
      }
      return [
        "PlaybackStatus": .text(model.playback.rawValue),
        "LoopStatus": .text(model.queue.repeatMode.loopStatus), "Rate": .double(model.rate),
        "Shuffle": .bool(model.queue.isShuffled), "Metadata": .map(fields),
        "Volume": .double(model.volume), "Position": .number(model.position),
        "MinimumRate": .double(Player.rates.lowerBound),
        "MaximumRate": .double(Player.rates.upperBound),
        "CanGoNext": .bool(model.queue.next(.asked) != nil),
        "CanGoPrevious": .bool(model.queue.previous() != nil),
        "CanPlay": .bool(!model.queue.isEmpty), "CanPause": .bool(model.queue.current != nil),
        "CanSeek": .bool(model.canSeek), "CanControl": .bool(true),
      ]
    }
  }

  /// The properties as a client knows them that reads them once, and then follows the signals.
  private struct ShownProperties {
    private var values: [String: BusItem] = [:]

    mutating func merge(_ properties: [String: BusItem]) { values.merge(properties) { $1 } }

    mutating func take(_ signal: BusClient.Signal) {
      guard signal.member == "PropertiesChanged", signal.values.count == 3,
        case .map(let changed) = signal.values[1]
      else { return }
      values.merge(changed) { $1 }
    }

    /// Whether these values are known; the position is not announced.
    func agrees(with found: [String: BusItem]) -> Bool {
      found.allSatisfy { $0.key == "Position" || values[$0.key] == $0.value }
    }
  }
#endif
