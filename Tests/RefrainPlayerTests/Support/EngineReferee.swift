// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer
import Testing

/// Passes commands to an engine, and checks its events against the rules of `EngineEvent`.
@MainActor
final class EngineReferee {
  let engine: any PlayerEngine
  private(set) var events: [EngineEvent] = []
  /// The violations of the rules.
  private(set) var violations: [String] = []
  private(set) var current: EngineItem.ID?
  private(set) var next: EngineItem.ID?
  private var lastID: UInt64 = 0
  private var lastSerial = 0
  private var begun: Set<EngineItem.ID> = []
  private var ready: Set<EngineItem.ID> = []
  private var over: Set<EngineItem.ID> = []
  /// The item that has to begin before any other event.
  private var due: EngineItem.ID?
  private var isPaused = false
  private var waiting: WaitingReason?
  /// Whether the listener has paused since the last report of a wait: that ends one, reported or not.
  private var hasPaused = false
  private var lastArrival = 0

  init(_ engine: any PlayerEngine) {
    self.engine = engine
    engine.report = { [weak self] in self?.note($0) }
  }

  // MARK: Commands

  /// - Parameters:
  ///   - streamURL: the URL of a stream, for an engine that plays it from there.
  ///   - rewind: the bytes of it to keep if it is live.
  @discardableResult
  func load(
    _ media: Media, at start: Duration = .zero, isPaused: Bool = false, streamURL: URL? = nil,
    rewind: Int64? = nil
  ) -> EngineItem.ID {
    var item = makeItem(media)
    (item.streamURL, item.rewind) = (streamURL, rewind)
    (current, next, due) = (item.id, nil, nil)
    (self.isPaused, waiting, hasPaused) = (isPaused, nil, false)
    engine.load(item, at: start, isPaused: isPaused)
    return item.id
  }

  @discardableResult
  func follow(with media: Media?) -> EngineItem.ID? {
    let item = media.map(makeItem)
    next = item?.id
    engine.follow(with: item)
    return item?.id
  }

  func play() {
    isPaused = false
    engine.play()
  }

  func pause() {
    (isPaused, waiting, hasPaused) = (true, nil, true)
    engine.pause()
  }

  @discardableResult
  func seek(to position: Duration) -> Int {
    lastSerial += 1
    engine.seek(to: position, serial: lastSerial)
    return lastSerial
  }

  func stop() {
    (current, next, due) = (nil, nil, nil)
    engine.stop()
  }

  func close() async {
    (current, next, due) = (nil, nil, nil)
    await engine.close()
  }

  /// Closes the engine after `body`, and expects that it kept to the rules.
  func closing(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch {
      await close()
      throw error
    }
    await close()
    #expect(violations == [])
  }

  private func makeItem(_ media: Media) -> EngineItem {
    lastID += 1
    return EngineItem(id: EngineItem.ID(rawValue: lastID), media: media, fill: .onDemand)
  }

  // MARK: What was told

  func isReady(_ id: EngineItem.ID) -> Bool { ready.contains(id) }

  func isOver(_ id: EngineItem.ID) -> Bool { over.contains(id) }

  /// Returns the last reported position of an item.
  func position(of id: EngineItem.ID) -> Duration? {
    for event in events.reversed() {
      switch event {
      case .position(id, let position), .ready(id, let position),
        .seekCompleted(id, _, let position):
        return position
      default: continue
      }
    }
    return nil
  }

  /// Returns the target and the serial of the last seek.
  func arrival(of id: EngineItem.ID) -> (serial: Int, position: Duration)? {
    for case .seekCompleted(id, let serial, let position) in events.reversed() {
      return (serial, position)
    }
    return nil
  }

  func failure(of id: EngineItem.ID) -> MediaCacheError? {
    for case .failed(id, let error) in events { return error }
    return nil
  }

  private func note(_ event: EngineEvent) {
    events.append(event)
    guard let id = event.item else { return }
    func rule(_ holds: Bool, _ text: String) {
      if !holds { violations.append("\(text): \(event), after \(events.suffix(6))") }
    }
    rule(id == current, "told of an item that is not the current one")
    guard id == current else { return }
    rule(!over.contains(id), "told of an item that is over")
    if let due {
      rule(event == .began(due), "did not begin what follows")
      self.due = nil
    }
    switch event {
    case .began:
      rule(begun.insert(id).inserted, "began twice")
    case .ready(_, let position):
      rule(begun.contains(id), "was ready before it began")
      rule(ready.insert(id).inserted, "was ready twice")
      rule(position >= .zero, "is ready before its start")
    case .duration(_, let duration):
      rule(begun.contains(id), "has a length before it began")
      rule(duration.map { $0 >= .zero } ?? true, "has a negative length")
    case .live: rule(begun.contains(id), "is live before it began")
    case .liveWindow: rule(begun.contains(id), "can be rewound before it began")
    case .streamTitle: rule(ready.contains(id), "has a title on air before it is ready")
    case .metadata: rule(begun.contains(id), "speaks before it began")
    case .position(_, let position):
      rule(ready.contains(id), "has a position before it is ready")
      rule(position >= .zero, "is before its start")
    case .buffered(_, let ranges):
      rule(begun.contains(id), "is buffered before it began")
      rule(ranges.allSatisfy { !$0.isEmpty }, "has an empty range buffered")
    case .waiting(_, let reason):
      rule(ready.contains(id), "waits before it is ready")
      rule(reason == nil || !isPaused, "waits, and is paused")
      rule(reason != waiting || hasPaused, "tells twice of a wait, or of its end")
      rule(reason != .seek, "tells of a seek as a wait")
      (waiting, hasPaused) = (reason, false)
    case .seekCompleted(_, let serial, let position):
      rule(begun.contains(id), "arrived before it began")
      rule(serial > lastArrival, "an earlier seek arrived later")
      rule(serial <= lastSerial, "a seek that nobody asked for")
      lastArrival = serial
      rule(position >= .zero, "arrived before the start")
    case .ended(_, let follower):
      // An item that began behind its end ends without being ready.
      rule(begun.contains(id), "ended before it began")
      rule(follower == nil || follower == next, "goes on with what was not asked for")
      over.insert(id)
      (current, due, next) = (follower, follower, nil)
      waiting = nil
    case .failed(_, let error):
      rule(begun.contains(id), "failed before it began")
      rule(!error.reason.isEmpty, "failed without a reason")
      over.insert(id)
      (current, next) = (nil, nil)
      waiting = nil
    case .tracks(_, let tracks):
      rule(begun.contains(id), "has tracks before it began")
      let kinds = tracks.selected.map(\.kind)
      rule(Set(kinds).count == kinds.count, "has two tracks of a kind selected")
    case .video: rule(ready.contains(id), "shows video before it is ready")
    case .subtitleFailed: rule(begun.contains(id), "lacks a subtitle before it began")
    case .displaced:
      rule(begun.contains(id), "was displaced before it began")
      over.insert(id)
      (current, next) = (nil, nil)
      waiting = nil
    case .audioUnavailable, .audioAvailable, .pausedBySystem, .videoUnavailable, .window,
      .fullscreen, .requested:
      break
    }
  }
}
