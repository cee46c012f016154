// SPDX-License-Identifier: MIT

/// The commands of a listener.
extension Player {
  // MARK: The queue

  /// Plays media in place of the queue.
  ///
  /// - Parameters:
  ///   - media: the new queue; if it is empty, playback stops.
  ///   - index: the index of the first item to play.
  ///   - position: the position at which that item begins: nothing before it is heard. An item that
  ///     is not longer fails with an error that states its length. A live stream plays as it
  ///     arrives, and `PlayerEvent.seekRefused` reports that.
  public func play(
    _ media: [Media], startingAt index: Int = 0, from position: Duration = .zero
  ) {
    send(.play(media, startingAt: index, from: max(.zero, position)))
  }

  /// Plays one media in place of the queue.
  public func play(_ media: Media) { play([media]) }

  public func enqueue(_ media: [Media]) { send(.enqueue(media)) }

  public func enqueue(_ media: Media) { enqueue([media]) }

  /// Inserts media right after the current item.
  public func insertNext(_ media: [Media]) { send(.insertNext(media)) }

  public func insertNext(_ media: Media) { insertNext([media]) }

  public func insert(_ media: [Media], at index: Int) { send(.insert(media, at: index)) }

  /// Removes an item. If it is the current one, the next one takes its place.
  public func remove(_ id: PlayQueue.Item.ID) { send(.remove(id)) }

  public func move(_ id: PlayQueue.Item.ID, to index: Int) { send(.move(id, to: index)) }

  /// Stops playback, and empties the queue.
  public func removeAll() { send(.removeAll) }

  /// Plays this item of the queue.
  public func jump(to id: PlayQueue.Item.ID) { send(.jump(id)) }

  /// Advances to the next item. After the last one, unless the queue repeats all, the queue ends as
  /// if played to its end; `queue.next(.asked)` returns the next item, if any, beforehand.
  public func next() { send(.next) }

  /// Goes back to the previous item if the current position is at most 3 seconds and there is a
  /// previous item; otherwise restarts the current item.
  public func previous() { send(.previous) }

  // MARK: Playing

  /// Resumes playback. A queue that has ended plays items added since, or begins again; a failed
  /// item is tried again.
  public func resume() { send(.resume) }

  public func pause() { send(.pause) }

  /// Pauses, or resumes if playback is not wanted.
  public func togglePlayback() { send(wantsToPlay ? .pause : .resume) }

  /// Ends playback. The queue stays.
  public func stop() { send(.stop) }

  /// Seeks to an exact position of the current item. Past its end, the next item plays.
  ///
  /// A live stream (`isLive`) seeks to the nearest position within its `liveWindow`:
  /// `PlayerEvent.seekCompleted` reports where it goes on. Without a window it does not seek, and
  /// `PlayerEvent.seekRefused` reports that; the same holds for the other seek methods.
  public func seek(to position: Duration) { send(.seek(position)) }

  /// Seeks forward, or back if negative, from the current position or from the target of a running
  /// seek.
  public func seek(by distance: Duration) { send(.skip(distance)) }

  /// Goes back to the present of a live stream that was paused or rewound. Other media do not seek.
  public func seekToLive() { send(.seekToLive) }

  /// Seeks to the stored position nearest to `position`: dragging over a scrubber then fetches
  /// nothing for the positions it passes. Call `seek(to:)` when the drag ends.
  public func scrub(to position: Duration) { send(.scrub(position)) }

  /// Selects a track of the current item (`tracks`). No stored byte is lost or fetched again. The
  /// engine ignores what it does not have or support (`capabilities`).
  ///
  /// - Parameters:
  ///   - track: nil selects none of the kind: no subtitles, say.
  ///   - kind: the kind of the track.
  public func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {
    send(.select(track, kind))
  }

  /// Selects the next track of a kind, as `MediaTracks.next(_:)` has it. Returns it; nil: none.
  @discardableResult
  public func selectNext(_ kind: MediaTrack.Kind) -> MediaTrack? {
    let next = state.tracks.next(kind)
    select(next?.id, of: kind)
    return next
  }

  /// Lets the player's own window fill the screen, or no longer. `isFullscreen` changes once the
  /// window has done so. Ignored while no window is open.
  public func setFullscreen(_ isFullscreen: Bool) { send(.setFullscreen(isFullscreen)) }

  /// Sets a timer that pauses playback after `time`.
  public func sleep(after time: Duration) { sleepTimer = .at(.now + time) }
}
