// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import RefrainLocks

  /// Observers of the time, each called every so many seconds of the media.
  final class TimeObservers: Sendable {
    private struct Observer {
      let interval: Double
      let block: @Sendable (CMTime) -> Void
    }

    private final class Token: Sendable {
      let id: UInt64
      init(id: UInt64) { self.id = id }
    }

    private let all = Mutex<(next: UInt64, observers: [UInt64: Observer])>((0, [:]))

    var count: Int { all.withLock { $0.observers.count } }

    func add(_ interval: Double, _ block: @escaping @Sendable (CMTime) -> Void) -> Any {
      all.withLock { all in
        all.next += 1
        all.observers[all.next] = Observer(interval: interval, block: block)
        return Token(id: all.next)
      }
    }

    func remove(_ token: Any) {
      guard let token = token as? Token else { return }
      all.withLock { $0.observers[token.id] = nil }
    }

    /// Returns the time of the next report.
    func next(after position: Double) -> Double? {
      all.withLock { all in
        all.observers.values.map { Self.next($0.interval, after: position) }.min()
      }
    }

    func tell(_ position: Double, from before: Double) {
      let due = all.withLock { all in
        all.observers.values.filter { Self.next($0.interval, after: before) <= position + 1e-9 }
      }
      for observer in due {
        observer.block(CMTime(seconds: position, preferredTimescale: 1_000_000))
      }
    }

    private static func next(_ interval: Double, after position: Double) -> Double {
      ((position / interval + 1e-6).rounded(.down) + 1) * interval
    }
  }

  extension AVPlayer {
    /// Advances the clock by `seconds`, of which the media plays as much as its rate and its bytes
    /// allow.
    package func standInAdvance(_ seconds: Double) {
      var left = seconds
      settle()
      while left > 1e-9, timeControlStatus == .playing, !standInIsStalling, let item = currentItem {
        let before = item.position
        var target = min(before + left * Double(rate), item.bound)
        if let tick = observers.next(after: before) { target = min(target, max(tick, before)) }
        left -= max((target - before) / Double(rate), 0)
        item.position = target
        observers.tell(target, from: before)
        if currentItem === item, item.isAtEnd {
          NotificationCenter.default.post(
            name: AVPlayerItem.didPlayToEndTimeNotification, object: item)
          if currentItem === item { itemHasEnded() }
        }
        item.tellObservers()
        settle()
      }
    }
  }
#endif
