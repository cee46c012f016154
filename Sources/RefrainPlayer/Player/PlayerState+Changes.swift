// SPDX-License-Identifier: MIT

extension PlayerState {
  /// Returns the differences from an earlier state, as events.
  func changes(since before: PlayerState) -> [PlayerEvent] {
    var events: [PlayerEvent] = []
    func compare<Value: Equatable>(
      _ property: KeyPath<PlayerState, Value>, _ event: (Value) -> PlayerEvent
    ) {
      let value = self[keyPath: property]
      if value != before[keyPath: property] { events.append(event(value)) }
    }
    compare(\.queue, PlayerEvent.queue)
    compare(\.item, PlayerEvent.item)
    compare(\.isLive, PlayerEvent.live)
    compare(\.liveWindow, PlayerEvent.liveWindow)
    compare(\.duration, PlayerEvent.duration)
    compare(\.position, PlayerEvent.position)
    compare(\.wantsToPlay, PlayerEvent.wantsToPlay)
    compare(\.status, PlayerEvent.status)
    compare(\.bufferedRanges, PlayerEvent.buffered)
    compare(\.cacheProgress, PlayerEvent.cached)
    compare(\.fetching, PlayerEvent.fetching)
    compare(\.streamProgress, PlayerEvent.streamProgress)
    compare(\.metadata, PlayerEvent.metadata)
    compare(\.tracks, PlayerEvent.tracks)
    compare(\.video, PlayerEvent.video)
    compare(\.showsVideo, PlayerEvent.showsVideo)
    compare(\.isFullscreen, PlayerEvent.fullscreen)
    compare(\.rate, PlayerEvent.rate)
    if volume != before.volume || isMuted != before.isMuted {
      events.append(.volume(volume, isMuted: isMuted))
    }
    compare(\.sleepTimer, PlayerEvent.sleepTimer)
    compare(\.audioDevice, PlayerEvent.audioDevice)
    if isSilent, !before.isSilent { events.append(.audioUnavailable) }
    return events
  }
}
