// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import TestSupport
import Testing

@testable import RefrainPlayer

/// Random commands, interleaved with random engine events, against a listener's expectations.
@MainActor
@Suite(.timeLimit(.minutes(TestSeed.minutes(3))))
struct PlayerModelTests {
  @Test func `A player matches the listener model under random commands and events`() async throws {
    let seed = TestSeed.next()
    print("REFRAIN_SEED=\(seed)")
    let lives = TestSeed.isSoak ? 100_000 : TestSeed.isSanitized ? 500 : 600
    try await withCache { cache, _ in
      for life in 0..<lives {
        var run = PlayerLife(cache: cache, random: SeededGenerator(seed: seed &+ UInt64(life)))
        let trouble = run.live(steps: 40)
        guard trouble == nil else {
          Issue.record("life \(life) of seed \(seed): \(trouble ?? "")\n\(run.history.suffix(40))")
          break
        }
        // Other tasks also need the main actor.
        await Task.yield()
      }
    }
  }
}

/// One player and its history.
@MainActor
struct PlayerLife {
  let engine = ScriptedEngine()
  let player: Player
  var random: SeededGenerator
  var model = ListenerModel()
  private(set) var history: [String] = []
  private let events: EventRecorder

  private static let names = [
    "ok-1", "ok-4", "ok-30", "ok-300", "missing", "broken", "gone", "breaks", "changes", "live",
  ]

  init(cache: MediaCache, random: SeededGenerator) {
    self.random = random
    player = Player(cache: cache, engine: engine)
    events = EventRecorder(player)
    // The same random numbers for shuffling.
    model.queue = player.queue
  }

  /// Runs random steps, and returns the error found.
  mutating func live(steps: Int) -> String? {
    for _ in 0..<steps {
      if Int.random(in: 0..<3, using: &random) == 0 { command() } else { step() }
      if let trouble = contradiction() { return trouble }
    }
    // Every wait ends once the necessary steps have happened.
    for _ in 0..<100 {
      if case .absent = player.stage { hear(.retry) }
      guard let step = engine.necessary else { break }
      take(step)
      if let trouble = contradiction() { return trouble }
    }
    if player.status == .loading || player.status == .buffering(.seek)
      || player.status == .buffering(.bytes)
    {
      return "it waits for good: \(player.status)"
    }
    return nil
  }

  private mutating func media() -> [Media] {
    (0..<Int.random(in: 0...3, using: &random)).map { _ in
      ScriptedEngine.media(Self.names.randomElement(using: &random) ?? "ok-4")
    }
  }

  private mutating func id() -> PlayQueue.Item.ID {
    // Sometimes the ID of an item that is gone, or never existed.
    player.queue.items.randomElement(using: &random)?.id
      ?? player.queue.items.first?.id ?? PlayQueue.Item.ID(rawValue: 7)
  }

  private mutating func command() {
    let time = Duration.seconds(Int.random(in: -5...40, using: &random))
    let index = Int.random(in: -1...4, using: &random)
    let command: PlayerCommand =
      switch Int.random(in: 0..<26, using: &random) {
      case 0, 1: .play(media(), startingAt: max(0, index), from: .zero)
      case 2: .enqueue(media())
      case 3: .insertNext(media())
      case 4: .insert(media(), at: max(0, min(index, player.queue.items.count)))
      case 5: .remove(id())
      case 6: .move(id(), to: max(0, index))
      case 7:
        Int.random(in: 0..<8, using: &random) == 0 ? .removeAll : .resume
      case 8: .jump(id())
      case 9, 10: .next
      case 11: .previous
      case 12, 13: .resume
      case 14: .pause
      case 15: Int.random(in: 0..<3, using: &random) == 0 ? .stop : .resume
      case 16, 17: .seek(time)
      case 18: .skip(time)
      case 19: .setRate(Double(index))
      case 20: .setVolume(Double(index) / 3)
      case 21: .setMuted(index > 1)
      case 22:
        .setRepeatMode(PlayQueue.RepeatMode.allCases.randomElement(using: &random) ?? .off)
      case 23: .setShuffled(index > 1)
      case 24:
        index > 3 ? .setAudioDevice("d") : .setSleepTimer(index > 2 ? .endOfItem : nil)
      default: index == 0 ? .fallAsleep : .retry
      }
    hear(command)
  }

  private mutating func hear(_ command: PlayerCommand) {
    history.append("\(command)")
    model.hear(command, at: player.position)
    player.send(command)
  }

  private mutating func step() {
    guard let step = engine.possible.randomElement(using: &random) else { return }
    take(step)
  }

  private mutating func take(_ step: ScriptedEngine.Step) {
    history.append("- \(step)")
    let (before, sleeps) = (engine.current, player.sleepTimer == .endOfItem)
    let media = before?.item.media ?? ScriptedEngine.media("ok-1")
    let error = ScriptedEngine.error(of: media)
    let duration = ScriptedEngine.duration(of: media) ?? .zero
    switch step {
    case .ready: model.heard()
    case .end: model.ended(sleeps: sleeps)
    case .arrive where media.title != "live":
      if let target = before?.seek?.target, target >= duration { model.ended(sleeps: sleeps) }
    case .fail:
      if !player.loadsAgain(after: error) { model.failed(error) }
    case .interrupt: model.interrupt(true)
    case .resume: model.interrupt(false)
    default: break
    }
    engine.take(step)
  }

  // MARK: What has to hold

  private func contradiction() -> String? {
    if player.queue != model.queue { return "another queue: \(player.queue) \(model.queue)" }
    if player.wantsToPlay != model.wants {
      return "wants \(player.wantsToPlay), not \(model.wants)"
    }
    if let trouble = events.contradiction(with: player) { return trouble }
    if player.rate != engine.rate && engine.rate != 1 { return "rate" }
    if player.position < .zero { return "before the start: \(player.position)" }
    let isLoaded = engine.current != nil
    switch player.status {
    case .idle, .ended, .failed:
      if isLoaded { return "\(player.status), and an item is loaded" }
      if player.wantsToPlay { return "\(player.status), and wants to play" }
      let kind: ListenerModel.Kind =
        player.status == .idle ? .idle : player.status == .ended ? .ended : .failed
      return model.kind == kind ? nil : "\(player.status), not \(model.kind)"
    case .buffering(.network):
      return model.kind == .active ? nil : "\(player.status), not \(model.kind)"
    case .loading, .playing, .paused, .buffering: break
    }
    if model.kind != .active { return "\(player.status), not \(model.kind)" }
    if case .absent = player.stage {
      return player.wantsToPlay ? "absent and \(player.status)" : nil
    }
    guard let current = engine.current else { return "\(player.status), and nothing is loaded" }
    if current.item.media != player.item?.media { return "another item plays" }
    if engine.isPaused == player.wantsToPlay { return "paused: \(engine.isPaused)" }
    if current.isReady != (player.stage == .ready(current.item.id)) { return "ready, or not" }
    if player.status == .playing, current.seek != nil || current.waiting != nil {
      return "playing, and waits"
    }
    let next = player.sleepTimer == .endOfItem ? nil : player.queue.next(.ended)
    if engine.next?.media != next?.media { return "another item follows" }
    return nil
  }
}

/// Builds the state from events alone.
@MainActor
final class EventRecorder {
  private var state: PlayerState
  private var item: PlayQueue.Item?
  /// The last reported state.
  private var last: PlayerState

  init(_ player: Player) { (state, last, item) = (player.state, player.state, player.item) }

  func contradiction(with player: Player) -> String? {
    let now = player.state
    for event in now.changes(since: last) { apply(event) }
    last = now
    let pairs: [(String, Bool)] = [
      ("status", state.status == now.status && now.status == player.status),
      ("wantsToPlay", state.wantsToPlay == now.wantsToPlay),
      ("queue", state.queue == now.queue && now.queue == player.queue),
      ("item", item == now.item && now.item == player.item),
      ("position", state.position == now.position && now.position == player.position),
      ("duration", state.duration == now.duration && now.duration == player.duration),
      ("live", state.isLive == now.isLive && now.isLive == player.isLive),
      ("liveWindow", state.liveWindow == now.liveWindow && now.liveWindow == player.liveWindow),
      ("buffered", state.bufferedRanges == now.bufferedRanges),
      ("metadata", state.metadata == now.metadata && now.metadata == player.metadata),
      ("rate", state.rate == now.rate && now.rate == player.rate),
      ("volume", state.volume == now.volume && state.isMuted == now.isMuted),
      ("sleepTimer", state.sleepTimer == now.sleepTimer),
      (
        "isFullscreen",
        state.isFullscreen == now.isFullscreen && now.isFullscreen == player.isFullscreen
      ),
    ]
    return pairs.first { !$0.1 }.map { "events and properties differ in \($0.0)" }
  }

  private func apply(_ event: PlayerEvent) {
    switch event {
    case .status(let value): state.status = value
    case .wantsToPlay(let value): state.wantsToPlay = value
    case .item(let value): item = value
    case .queue(let value): state.queue = value
    case .position(let value): state.position = value
    case .duration(let value): state.duration = value
    case .buffered(let value): state.bufferedRanges = value
    case .metadata(let value): state.metadata = value
    case .rate(let value): state.rate = value
    case .volume(let volume, let isMuted): (state.volume, state.isMuted) = (volume, isMuted)
    case .sleepTimer(let value): state.sleepTimer = value
    case .live(let value): state.isLive = value
    case .liveWindow(let value): state.liveWindow = value
    case .tracks(let value): state.tracks = value
    case .video(let value): state.video = value
    case .showsVideo(let value): state.showsVideo = value
    case .fullscreen(let value): state.isFullscreen = value
    case .audioDevice(let value): state.audioDevice = value
    case .videoUnavailable, .subtitleFailed, .window, .audioUnavailable, .cached, .fetching,
      .streamProgress, .started, .seekCompleted,
      .seekRefused, .finished, .failed, .expanded, .report:
      break
    }
  }
}
