// SPDX-License-Identifier: MIT
import Foundation

/// Readers: what they find, and how they wait.
extension GenerationState {
  /// Looks up a reader's offset, and advances the reader by up to `count` of the bytes found there.
  mutating func lookUp(_ id: ReaderID, at offset: Int64, count: Int) -> Lookup<AvailableBytes> {
    // The reader was just cancelled, or moved to another generation, and will notice by itself.
    guard var reader = readers[id] else { return .moved }
    move(&reader, to: offset)
    let found = available(to: id, reader, at: offset)
    var looksAhead = false
    switch found {
    case .found(.file(_, let upTo)):
      advance(&reader, by: min(Int64(count), upTo - offset))
      // The usual case, which has to be fast: there is plenty ahead.
      looksAhead = upTo - reader.position <= limits.maximumReadAhead || !fetches.isEmpty
    case .found(.memory(let bytes)):
      advance(&reader, by: min(Int64(count), Int64(bytes.count)))
      looksAhead = true
    case .wait where !reader.awaitsConfirmation: reader.activity = .aboutToWait
    default: break
    }
    readers[id] = reader
    if looksAhead, !isComplete, !isOffline {
      plan(for: id, isWaiting: false)
      watchAbandoned()
      resumePaused()
    }
    if reader.awaitsConfirmation, case .wait = found { confirm(for: reader, at: offset) }
    return found
  }

  func lookUpInformation(_ id: ReaderID) -> Lookup<ContentInformation> {
    // As `lookUp`.
    guard let reader = readers[id] else { return .moved }
    return obstacle(for: id, reader) ?? info.map { .found($0) } ?? .wait
  }

  private func available(
    to id: ReaderID, _ reader: Reader, at offset: Int64
  ) -> Lookup<AvailableBytes> {
    if life == .closed { return .failed(Self.closed) }
    if let obstacle: Lookup<AvailableBytes> = obstacle(for: id, reader) { return obstacle }
    if let length, offset >= length { return .found(.end) }
    if let range = stored.range(containing: offset), let file {
      return .found(.file(file, upTo: min(range.upperBound, length ?? .max)))
    }
    // In the background, bytes are fetched to be stored.
    if !reader.isBackground, let bytes = transient.bytes(at: offset) {
      return .found(.memory(bytes))
    }
    if life == .superseded { return .failed(isLive ? Self.brokeOff : Self.changed) }
    if reader.isBackground, isLive { return .failed(.endless) }
    guard isOutOfReach(offset) else { return .wait }
    // A reader that has read nothing may join the stream at its current position.
    return hasPassedStart && !reader.hasRead ? .moved : .failed(Self.outOfReach)
  }

  /// Returns what keeps a reader from all that is known and stored.
  private func obstacle<Found>(for id: ReaderID, _ reader: Reader) -> Lookup<Found>? {
    if life == .superseded, !reader.hasRead { return .moved }
    // In place of a response that was handed to another one, a client asks for itself, and a player
    // begins with the next generation.
    if let handed, handed.reader != id {
      return reader.terms.audience == .client ? .failed(ReadTerms.personal) : .moved
    }
    return reader.awaitsConfirmation ? .wait : nil
  }

  // MARK: Moving

  private mutating func move(_ reader: inout Reader, to offset: Int64) {
    defer { reader.activity = .reading }
    if offset == reader.position, reader.isActive { return }
    // Small steps ahead count as sequential reading: a demuxer skips. So do larger steps over stored
    // bytes: a client may read those from the file itself.
    let step = offset - reader.position
    let goesOn =
      reader.isActive && step >= 0
      && (step <= limits.firstRequest
        || stored.range(containing: reader.position).map { offset <= $0.upperBound } == true)
    if !goesOn {
      runEnded(reader)
      if reader.isActive { reader.missed = nil }
    }
    reader.runLength = goesOn ? reader.runLength + step : 0
    reader.position = offset
  }

  private func advance(_ reader: inout Reader, by count: Int64) {
    reader.wasServed = true
    reader.position += count
    reader.runLength += count
    if count > 0 { reader.hasRead = true }
  }

  /// Records that a reader stays, but reads nothing for now.
  mutating func rest(_ id: ReaderID) {
    guard let reader = readers[id] else { return }
    readers[id]?.activity = .idle
    runEnded(reader)
    watchAbandoned()
  }

  mutating func detach(_ id: ReaderID) {
    wake(waits.filter { $0.readerID == id }, with: CancellationError())
    if let reader = readers[id] { runEnded(reader) }
    readers[id] = nil
    // The file is unlinked; closing the descriptor frees its blocks.
    if life == .superseded, readers.isEmpty { storage.releaseFile() }
    recount()
    if !transient.isEmpty { transient.keep(near: transientWindows()) }
    releaseUnwanted()
    watchAbandoned()
  }

  // MARK: Waiting

  /// Registers a waiter.
  ///
  /// - Returns: its outcome, if its bytes are there or can never come.
  mutating func wait(_ id: WaiterID, _ waiter: Waiter) -> Result<Void, any Error>? {
    // The reader looks up its offset again, and learns the reason.
    guard let reader = readers[waiter.reader] else { return .success(()) }
    if reader.activity == .aboutToWait { readers[waiter.reader]?.activity = .reading }
    if life == .closed { return .failure(Self.closed) }
    if life == .superseded || isServed(waiter.reader, reader, at: waiter.offset) {
      return .success(())
    }
    if isOffline { return .failure(MediaCacheError.offline) }
    // Once, if it would now wait for the same bytes, or for those after them.
    if let (position, error) = reader.missed {
      readers[waiter.reader]?.missed = nil
      let offset = waiter.offset ?? 0
      if offset >= position, !fetches.bring(offset) { return .failure(error) }
    }
    if handed != nil, fetches.isEmpty { return .failure(Self.handedInPart) }
    if !reader.isActive { readers[waiter.reader]?.activity = .asking }
    waiters[id] = waiter
    if reader.awaitsConfirmation { confirm(for: reader, at: waiter.offset) } else { plan() }
    watchAbandoned()
    recount()
    return nil
  }

  /// Whether a reader has nothing to wait for at an offset, or for the content information (nil): it
  /// looks again, and finds bytes or an error.
  func isServed(_ id: ReaderID, _ reader: Reader, at offset: Int64?) -> Bool {
    if let offset {
      if case .wait = available(to: id, reader, at: offset) { return false }
    } else if case .wait = lookUpInformation(id) {
      return false
    }
    return true
  }

  mutating func cancelWaiter(_ id: WaiterID) {
    let waits = waits.filter { $0.id == id }
    if waits.isEmpty { return }
    wake(waits, with: CancellationError())
    releaseUnwanted()
  }

  mutating func wakeServed() {
    wake(waits.filter { isServed($0.readerID, $0.reader, at: $0.offset) })
  }

  /// Whether a reader is about to wait for the byte at which a fetch has failed.
  func misses(_ reader: Reader, _ position: Int64) -> Bool {
    // The filling has asked for its reader, on a busy machine before the reader does: a resource that
    // the origin refuses is not requested again.
    if info == nil { return reader.fillsWhole && !reader.isActive }
    // A reader that was receiving the last bytes of a response which was cut short would have it read
    // again from its start; where each one ends a few bytes further on, again and again. A prefetch
    // reads from its first question about the resource on.
    guard reader.isReading || reader.isBackground && reader.isActive, !reader.awaitsConfirmation,
      reader.position <= position, position < reader.end
    else { return false }
    // A player that arrives later may find the origin repaired.
    return reader.isBackground || !LastCut.isProgress(position - reader.position, at: position)
  }

  /// Whether a request for others is running, or about to, while nothing is known of the resource.
  /// Readers that waited and no longer wait have received an error.
  func isAsked(byOthersThan id: ReaderID) -> Bool {
    !fetches.isEmpty || !waiters.isEmpty
      || readers.contains { (other, reader) in
        other != id && (reader.activity == .idle || reader.activity == .aboutToWait)
      }
  }

  static let closed = MediaCacheError(.closed, "The cache was closed.")

  static let changed = MediaCacheError(
    .resourceChanged, "The resource changed at the origin while it was being read.",
    remedy: "Open the resource again to read the new version.")
}
