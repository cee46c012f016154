// SPDX-License-Identifier: MIT

/// What a listener does.
extension Player {
  // MARK: The queue

  /// Plays media in place of the queue.
  ///
  /// - Parameters:
  ///   - media: the new queue; where it is empty, everything stops.
  ///   - index: which of them is first.
  ///   - position: where the first one begins: nothing before it is heard. Where the item is not
  ///     longer than that, it fails with an error that names its length; a live stream plays as it
  ///     comes, and `PlayerEvent.seekRefused` says so.
  public func play(
    _ media: [Media], startingAt index: Int = 0, from position: Duration = .zero
  ) {
    send(.play(media, startingAt: index, from: max(.zero, position)))
  }

  /// Plays one media in place of the queue.
  public func play(_ media: Media) { play([media]) }

  public func enqueue(_ media: [Media]) { send(.enqueue(media)) }

  public func enqueue(_ media: Media) { enqueue([media]) }

  /// Puts media right after the current one.
  public func insertNext(_ media: [Media]) { send(.insertNext(media)) }

  public func insertNext(_ media: Media) { insertNext([media]) }

  public func insert(_ media: [Media], at index: Int) { send(.insert(media, at: index)) }

  /// Takes an item out. Where it is the current one, the next one plays.
  public func remove(_ id: PlayQueue.Item.ID) { send(.remove(id)) }

  public func move(_ id: PlayQueue.Item.ID, to index: Int) { send(.move(id, to: index)) }

  /// Stops, and empties the queue.
  public func removeAll() { send(.removeAll) }

  /// Plays that item of the queue.
  public func jump(to id: PlayQueue.Item.ID) { send(.jump(id)) }

  /// Goes on with the next item. After the last one, unless the queue repeats all, the queue has
  /// ended, as when it was played to its end; `queue.next(.asked)` says beforehand whether there is a
  /// next one.
  public func next() { send(.next) }

  /// Begins the current item anew where more than 3 seconds of it were heard; else goes back to the
  /// one before it.
  public func previous() { send(.previous) }

  public func setRepeatMode(_ mode: PlayQueue.RepeatMode) { send(.setRepeatMode(mode)) }

  public func setShuffled(_ isShuffled: Bool) { send(.setShuffled(isShuffled)) }

  // MARK: Playing

  /// Plays on; a queue that has ended begins anew; what has failed is tried again.
  public func resume() { send(.resume) }

  public func pause() { send(.pause) }

  public func toggle() { send(wantsToPlay ? .pause : .resume) }

  /// Ends what plays. The queue stays.
  public func stop() { send(.stop) }

  /// Goes to a position of the current item, exactly. Past its end, the next one plays. In a live
  /// stream (`isLive`) nothing happens, and `PlayerEvent.seekRefused` says so; likewise for the other
  /// ways of seeking.
  public func seek(to position: Duration) { send(.seek(position)) }

  /// Goes on or back from where it is, or from where a seek leads that is under way.
  public func seek(by distance: Duration) { send(.skip(distance)) }

  /// Goes to what is stored nearest to a position: while a finger drags over a scrubber, nothing is
  /// fetched for every place that it passes. `seek(to:)` once it is lifted.
  public func scrub(to position: Duration) { send(.scrub(position)) }

  /// 0.5 to 3; the pitch is kept.
  public func setRate(_ rate: Double) { send(.setRate(rate)) }

  /// 0 is silence, 1 the loudness of the media.
  public func setVolume(_ volume: Double) { send(.setVolume(volume)) }

  public func setMuted(_ isMuted: Bool) { send(.setMuted(isMuted)) }

  /// Pauses later, by itself; nil: does not.
  public func setSleepTimer(_ timer: SleepTimer?) { send(.setSleepTimer(timer)) }

  /// Pauses after a while, by itself.
  public func sleep(after time: Duration) { setSleepTimer(.at(.now + time)) }
}
