// SPDX-License-Identifier: MIT
import Foundation

/// Readers: their positions, and how they wait.
extension GenerationState {
  mutating func detach(_ id: ReaderID) {
    let (reader, left) = readers.remove(id)
    if let reader { runEnded(reader) }
    // The file is unlinked; closing the descriptor frees its blocks.
    if life == .superseded, readers.isEmpty { storage.releaseFile() }
    wake(left, with: CancellationError())
    recount()
    if !transient.isEmpty { transient.keep(near: transientWindows()) }
    releaseUnwanted()
    watchAbandoned()
  }

  /// Returns the end of the bytes from an offset on that are readable, or that responses which have
  /// begun bring; the offset itself if there are none. Nil while a response brings the whole
  /// resource: it announces no range.
  func announcedEnd(from offset: Int64) -> Int64? {
    if fetches.values.contains(where: \.isWhole) { return nil }
    var announced = readable
    for fetch in fetches.values {
      let end = min(fetch.announcedEnd ?? 0, fetch.range.upperBound)
      if end > fetch.position { announced.insert(contentsOf: fetch.position..<end) }
    }
    return announced.end(from: offset)
  }

  /// Looks up a reader's offset, and advances the reader by up to `count` of the bytes found there.
  mutating func lookUp(_ id: ReaderID, at offset: Int64, count: Int) -> Lookup<AvailableBytes> {
    // The reader was just cancelled, or moved to another generation, and will notice by itself.
    guard var reader = readers[id] else { return .moved }
    if life == .closed { return .failed(Self.closed) }
    if let withheld: Lookup<AvailableBytes> = withheld(from: id) { return withheld }
    if offset != reader.position || !reader.isActive {
      // Small steps ahead count as sequential reading: a demuxer skips.
      let step = offset - reader.position
      // So do larger steps over stored bytes: a client may read those from the file itself.
      let goesOn =
        reader.isActive && step >= 0
        && (step <= limits.firstRequest
          || stored.range(containing: reader.position).map { offset <= $0.upperBound } == true)
      if !goesOn {
        runEnded(reader)
        if reader.isActive { reader.missedCut = nil }
      }
      reader.runLength = goesOn ? reader.runLength + step : 0
      reader.position = offset
    }
    reader.activity = .reading
    defer { readers[id] = reader }

    if life == .superseded, !reader.hasRead { return .moved }
    if reader.awaitsConfirmation {
      readers[id] = reader
      confirm(for: reader, at: offset)
      return .wait
    }
    if let length, offset >= length { return .found(.end) }
    if let range = stored.range(containing: offset), let file {
      reader.wasServed = true
      let upTo = min(range.upperBound, length ?? .max)
      advance(&reader, by: min(Int64(count), upTo - offset))
      readers[id] = reader
      // The usual case, which has to be fast: there is plenty ahead.
      if upTo - reader.position <= limits.maximumReadAhead || !fetches.isEmpty {
        readAhead(for: id)
      }
      return .found(.file(file, upTo: upTo))
    }
    if !reader.isBackground, let bytes = transient.bytes(at: offset) {
      reader.wasServed = true
      advance(&reader, by: min(Int64(count), Int64(bytes.count)))
      readers[id] = reader
      readAhead(for: id)
      return .found(.memory(bytes))
    }
    if life == .superseded { return .failed(isLive ? Self.brokeOff : Self.changed) }
    if reader.isBackground, isLive { return .failed(StorageProblem.endless.error) }
    if isOutOfReach(offset) {
      // A reader that has read nothing may join the stream at its current position.
      return hasPassedStart && !reader.hasRead ? .moved : .failed(Self.outOfReach)
    }
    reader.activity = .aboutToWait
    return .wait
  }

  /// Looks up the properties of the resource for a reader.
  func lookUpInformation(_ id: ReaderID) -> Lookup<ContentInformation> {
    // As `lookUp`.
    guard let reader = readers[id] else { return .moved }
    if life == .superseded, !reader.hasRead { return .moved }
    if let withheld: Lookup<ContentInformation> = withheld(from: id) { return withheld }
    guard !reader.awaitsConfirmation, let info else { return .wait }
    return .found(info)
  }

  func advance(_ reader: inout Reader, by count: Int64) {
    reader.position += count
    reader.runLength += count
    if count > 0 { reader.hasRead = true }
  }

  static let closed = MediaCacheError(.closed, "The cache was closed.")

  static let changed = MediaCacheError(
    .resourceChanged, "The resource changed at the origin while it was being read.",
    remedy: "Open the resource again to read the new version.")

  // MARK: Waiting

  /// Registers a waiter, unless its bytes are there or can never come.
  ///
  /// - Returns: an outcome to deliver at once, if there is one.
  mutating func wait(_ id: WaiterID, _ waiter: Waiter) -> Result<Void, any Error>? {
    // The reader looks up its offset again, and learns the reason.
    guard let reader = readers[waiter.reader] else { return .success(()) }
    if reader.activity == .aboutToWait { readers[waiter.reader]?.activity = .reading }
    if life == .closed { return .failure(Self.closed) }
    if life == .superseded { return .success(()) }
    if let _: Lookup<AvailableBytes> = withheld(from: waiter.reader) { return .success(()) }
    if !reader.awaitsConfirmation, isServed(waiter) { return .success(()) }
    if isOffline { return .failure(MediaCacheError.offline) }
    if let error = takeMissedCut(by: waiter) { return .failure(error) }
    if handed != nil, fetches.isEmpty { return .failure(Self.handedInPart) }
    if !reader.isActive { readers[waiter.reader]?.activity = .asking }
    readers.add(waiter, as: id)
    if reader.awaitsConfirmation { confirm(for: reader, at: waiter.offset) } else { plan() }
    watchAbandoned()
    recount()
    return nil
  }

  func isServed(_ waiter: Waiter) -> Bool {
    guard let offset = waiter.offset else { return info != nil }
    if let length, offset >= length { return true }
    if stored.contains(offset) { return true }
    // The reader looks up its offset again, and receives an error.
    if isOutOfReach(offset) { return true }
    // In the background, bytes are fetched to be stored.
    return readers[waiter.reader]?.isBackground != true && transient.spans.contains(offset)
  }

  mutating func cancelWaiter(_ id: WaiterID) {
    guard let waiter = readers.takeWaiter(id) else { return }
    wake([waiter.wake], with: CancellationError())
    releaseUnwanted()
  }

  mutating func wakeServed() {
    guard !readers.waiters.isEmpty else { return }
    let before = self
    wake(
      readers.takeWaiters { waiter, reader in
        reader?.awaitsConfirmation != true && before.isServed(waiter)
      })
  }
}

extension GenerationState {
  /// Whether a request for others is running, or about to, while nothing is known of the resource.
  /// Readers that waited and no longer wait have received an error.
  func isAsked(byOthersThan id: ReaderID) -> Bool {
    !fetches.isEmpty || !readers.waiters.isEmpty
      || readers.contains { (other, reader) in
        other != id && (reader.activity == .idle || reader.activity == .aboutToWait)
      }
  }
}
