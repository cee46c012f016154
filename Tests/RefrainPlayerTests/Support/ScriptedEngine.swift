// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainPlayer

/// An engine whose media's names set their behaviour, one step at a time, as the test requests.
///
/// `ok-20` lasts 20 seconds; `missing` cannot be fetched (404), `broken` is not media; `gone`
/// cannot be reached from the start; `breaks` loses its origin in the middle, each time that it
/// plays; `changes` becomes another version in the middle; `live` has no end.
@MainActor
final class ScriptedEngine: PlayerEngine {
  var capabilities = PlayerCapabilities()
  var report: (@MainActor (EngineEvent) -> Void)?

  struct Playing {
    var item: EngineItem
    var position: Duration
    var hasBegun = false
    var isReady = false
    var waiting: WaitingReason?
    var seek: (serial: Int, target: Duration)?
  }

  enum Step: CaseIterable {
    case begin, ready, duration, tick, buffer, wait, goOn, arrive, metadata, end, fail, interrupt
    case resume
  }

  private(set) var current: Playing?
  private(set) var next: EngineItem?
  private(set) var isPaused = false
  private(set) var rate = 1.0
  private(set) var volume = 1.0
  private(set) var isMuted = false
  private(set) var isClosed = false
  /// Whether the window fills the screen; nil: none is open.
  private(set) var isFullscreen: Bool?
  private var isInterrupted = false

  static func media(_ name: String) -> Media { Media(URL(filePath: "/\(name)"), title: name) }

  static func duration(of media: Media) -> Duration? {
    let parts = media.url.lastPathComponent.split(separator: "-")
    return parts.count == 2 ? Double(parts[1]).map { .seconds($0) } : .seconds(10)
  }

  private static func isLive(_ media: Media) -> Bool { media.url.lastPathComponent == "live" }

  // MARK: PlayerEngine

  func load(_ item: EngineItem, at start: Duration, isPaused: Bool) {
    current = Playing(item: item, position: start)
    next = nil
    self.isPaused = isPaused
    isInterrupted = false
  }

  func follow(with item: EngineItem?) { next = item }

  func play() {
    isPaused = false
    isInterrupted = false
  }

  func pause() {
    isPaused = true
    // After a pause, the end of an interruption must not resume playback.
    isInterrupted = false
    if current?.waiting != nil { current?.waiting = nil }
  }

  func seek(to position: Duration, serial: Int) {
    current?.seek = (serial, max(.zero, position))
  }

  func setRate(_ rate: Double) { self.rate = rate }

  func setVolume(_ volume: Double, isMuted: Bool) {
    (self.volume, self.isMuted) = (volume, isMuted)
  }

  func setFullscreen(_ isFullscreen: Bool) { showWindow(isFullscreen) }

  func stop() { (current, next) = (nil, nil) }

  func statistics(of item: EngineItem.ID) -> MediaReader.Statistics? { nil }

  func close() async {
    stop()
    isClosed = true
  }

  /// Opens the window, changes it, or closes it with nil.
  func showWindow(_ isFullscreen: Bool?) {
    self.isFullscreen = isFullscreen
    report?(.fullscreen(isFullscreen))
  }

  // MARK: Steps

  /// The steps that are possible now.
  var possible: [Step] { Step.allCases.filter(isPossible) }

  /// The step that happens by itself if no other does, so that every wait ends.
  var necessary: Step? {
    [.begin, .fail, .ready, .arrive, .goOn].first(where: isPossible)
  }

  private func isPossible(_ step: Step) -> Bool {
    guard let current else { return false }
    let name = current.item.media.url.lastPathComponent
    let isPlaying = current.isReady && !isPaused && current.seek == nil && current.waiting == nil
    return switch step {
    case .begin: !current.hasBegun
    case .ready:
      current.hasBegun && !current.isReady && !["missing", "broken", "gone"].contains(name)
    case .duration, .buffer, .metadata: current.hasBegun
    case .tick: isPlaying
    case .wait: isPlaying
    case .goOn: current.waiting != nil
    case .arrive: current.isReady && current.seek != nil
    case .end: isPlaying && name != "live" && current.position > .zero
    case .fail:
      current.isReady
        ? ["breaks", "changes"].contains(name) && isPlaying
        : current.hasBegun && ["missing", "broken", "gone"].contains(name)
    case .interrupt: isPlaying
    case .resume: isInterrupted
    }
  }

  func take(_ step: Step) {
    guard isPossible(step), var now = current else { return }
    let id = now.item.id
    let duration = Self.duration(of: now.item.media) ?? .seconds(10)
    switch step {
    case .begin:
      now.hasBegun = true
      let seek = Self.isLive(now.item.media) ? now.seek : nil
      if seek != nil { now.seek = nil }
      current = now
      report?(.began(id))
      guard Self.isLive(now.item.media) else { break }
      report?(.live(id))
      if let seek { report?(.seekCompleted(id, serial: seek.serial, at: now.position)) }
    case .ready:
      now.isReady = true
      current = now
      report?(.ready(id, at: now.position))
    case .duration:
      report?(.duration(id, Self.isLive(now.item.media) ? nil : duration))
    case .tick:
      now.position = min(now.position + .seconds(1), duration)
      current = now
      report?(.position(id, now.position))
    case .buffer: report?(.buffered(id, [now.position..<(now.position + .seconds(5))]))
    case .wait:
      now.waiting = .bytes
      current = now
      report?(.waiting(id, .bytes))
    case .goOn:
      now.waiting = nil
      current = now
      report?(.waiting(id, nil))
    case .arrive:
      guard let seek = now.seek else { return }
      now.seek = nil
      if seek.target >= duration, !Self.isLive(now.item.media) {
        current = now
        end()
      } else {
        now.position = seek.target
        current = now
        report?(.seekCompleted(id, serial: seek.serial, at: seek.target))
      }
    case .metadata: report?(.metadata(id, MediaMetadata(title: now.item.media.title)))
    case .end: end()
    case .fail:
      (current, next) = (nil, nil)
      report?(.failed(id, Self.error(of: now.item.media)))
    case .interrupt:
      isPaused = true
      isInterrupted = true
      current?.waiting = nil
      report?(.pausedBySystem(true))
    case .resume:
      isInterrupted = false
      report?(.pausedBySystem(false))
    }
  }

  private func end() {
    guard let ended = current?.item.id else { return }
    let follower = next
    next = nil
    current = follower.map { Playing(item: $0, position: .zero) }
    report?(.ended(ended, followedBy: follower?.id))
  }

  static func error(of media: Media) -> MediaCacheError {
    switch media.url.lastPathComponent {
    case "missing": MediaCacheError(.status, "It is not there.", remedy: "Look.", status: 404)
    case "gone", "breaks": MediaCacheError(.unreachable, "It is far away.", remedy: "Wait.")
    case "changes": MediaCacheError(.resourceChanged, "It is another one.")
    default: MediaCacheError(.invalidResponse, "It is no media.", remedy: "Look at it.")
    }
  }
}
