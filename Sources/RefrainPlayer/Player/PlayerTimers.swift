// SPDX-License-Identifier: MIT

/// The timers of a player, which can be cancelled.
@MainActor
struct PlayerTimers {
  private var retry: Task<Void, Never>?
  private var sleep: Task<Void, Never>?

  mutating func retry(after delay: Duration?, _ act: @escaping @MainActor () -> Void) {
    retry?.cancel()
    retry = delay.map { Self.later(.now + $0, act) }
  }

  mutating func sleep(_ timer: SleepTimer?, _ act: @escaping @MainActor () -> Void) {
    sleep?.cancel()
    sleep = nil
    if case .at(let instant) = timer { sleep = Self.later(instant, act) }
  }

  mutating func cancel() {
    retry?.cancel()
    sleep?.cancel()
    (retry, sleep) = (nil, nil)
  }

  private static func later(
    _ instant: ContinuousClock.Instant, _ act: @escaping @MainActor () -> Void
  ) -> Task<Void, Never> {
    Task {
      do { try await Task.sleep(until: instant, clock: .continuous) } catch { return }
      if !Task.isCancelled { act() }
    }
  }
}
