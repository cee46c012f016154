// SPDX-License-Identifier: MIT
import Refrain
import Testing

@testable import RefrainPlayer

/// A listener's expectations of a player, without engines, serials and waits: the current item, and
/// whether it should play.
struct ListenerModel {
  enum Kind: Equatable {
    case idle, active, ended, failed
  }

  var queue = PlayQueue()
  var kind = Kind.idle
  var wants = false
  private var lastFailure: MediaCacheError?
  private var failures = 0
  private var interrupted = false

  /// - Parameter position: the player's position before the command.
  mutating func hear(_ command: PlayerCommand, at position: Duration) {
    switch command {
    case .play, .jump, .next, .previous, .resume, .restore: heard()
    default: break
    }
    switch command {
    case .play(let media, let index, _):
      queue.replace(with: media, startingAt: index)
      media.isEmpty ? rest(.idle) : begin(wants: true)
    case .enqueue(let media): queue.append(media)
    case .insertNext(let media): queue.insertNext(media)
    case .insert(let media, let index): queue.insert(media, at: index)
    case .remove(let id):
      let wasCurrent = queue.current?.id == id
      _ = queue.remove(id)
      if wasCurrent { kind == .active && queue.current != nil ? begin(wants: wants) : rest(.idle) }
    case .move(let id, let index): _ = queue.move(id, to: index)
    case .removeAll:
      queue.removeAll()
      rest(.idle)
    case .jump(let id): if queue.jump(to: id) { begin(wants: true) }
    case .next:
      if queue.advance(.asked) != nil {
        begin(wants: wants || kind != .active)
      } else if kind == .active {
        rest(.ended)
      }
    case .previous:
      guard queue.current != nil else { return }
      if position <= .seconds(3), queue.goBack() != nil {
        begin(wants: wants || kind != .active)
      } else if kind != .active {
        begin(wants: true)
      }
    case .resume:
      if kind == .ended, queue.advance(.ended) == nil { queue.rewind() }
      if kind != .active, queue.current == nil { queue.rewind() }
      if queue.current != nil { begin(wants: true) }
    case .pause, .fallAsleep:
      wants = false
      interrupted = false
    case .stop: rest(.idle)
    case .seek, .skip, .scrub, .seekToLive:
      if kind == .ended, queue.current != nil, command != .scrub(position) { begin(wants: wants) }
    case .setRepeatMode(let mode): queue.repeatMode = mode
    case .setShuffled(let isShuffled): queue.setShuffled(isShuffled)
    case .restore(let session):
      queue = session.queue
      rest(.idle)
    case .setRate, .setVolume, .setMuted, .setSleepTimer, .select, .setShowsVideo,
      .setFullscreen, .setAudioDevice, .retry:
      break
    }
  }

  mutating func ended(sleeps: Bool) {
    if sleeps { wants = false }
    if queue.advance(.ended) != nil { begin(wants: wants) } else { rest(.ended) }
  }

  mutating func heard() { (lastFailure, failures) = (nil, 0) }

  mutating func failed(_ error: MediaCacheError) {
    // A missing resource, or the content of a file, says nothing of other items.
    let isOther =
      (error.status == 404 || error.code == .invalidResponse)
      && queue.next(.ended)?.id != queue.current?.id
    let isSame =
      !isOther && lastFailure?.code == error.code && lastFailure?.status == error.status
    lastFailure = error
    failures += 1
    guard !isSame, failures < queue.items.count, queue.advance(.ended) != nil else {
      return rest(.failed)
    }
    begin(wants: wants)
  }

  mutating func interrupt(_ isInterrupted: Bool) {
    if isInterrupted, wants {
      (wants, interrupted) = (false, true)
    } else if !isInterrupted, interrupted {
      (wants, interrupted) = (true, false)
    }
  }

  private mutating func begin(wants: Bool) {
    kind = .active
    self.wants = wants
    if wants { interrupted = false }
  }

  private mutating func rest(_ kind: Kind) {
    (self.kind, wants, interrupted) = (kind, false, false)
  }
}

extension PlayerMachine {
  /// Plays media, and has the engine report events of the first. Returns its id.
  mutating func play(
    _ media: [Media], then events: (EngineItem.ID) -> [EngineEvent]
  ) throws -> EngineItem.ID {
    _ = handle(.play(media, startingAt: 0, from: .zero))
    let id = try #require(engineItem)
    for event in [.began(id)] + events(id) { _ = handle(event) }
    return id
  }
}
