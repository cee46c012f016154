// SPDX-License-Identifier: MIT

/// The end of a fetch, and that of the generation.
extension GenerationState {
  /// Whether this fetch is ending without having brought anything while readers wait for its bytes.
  /// Another request at once would do no better: it is made after a delay, or never.
  func endsInVain(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], !fetch.isConfirmation, !fetch.isCalledOff, fetch.brought == 0,
      handed == nil, !isOver
    else { return false }
    return waits.contains { wait in
      guard !wait.reader.awaitsConfirmation,
        !isServed(wait.readerID, wait.reader, at: wait.offset)
      else { return false }
      guard let offset = wait.offset else {
        return !fetches.contains { $0.key != id && $0.value.bringsBytes }
      }
      return fetch.ahead.contains(offset) && !fetches.bring(offset, besides: id)
    }
  }

  static let nothingCame = MediaCacheError(
    .invalidResponse, "The origin's response contained none of the requested bytes.",
    remedy: "The response was discarded; the origin, or a proxy before it, needs repair.")

  /// Whether a reader has received bytes or this fetch has brought some: then an outage is waited
  /// out.
  func isPlaying(_ id: FetchID) -> Bool {
    (fetches[id]?.brought ?? 0) > 0 || readers.values.contains { $0.wasServed || $0.hasRead }
  }

  /// Whether nothing is known, and every reader passes on the origin's error response.
  var reportsErrors: Bool {
    info == nil && !readers.isEmpty && readers.values.allSatisfy(\.terms.passesOnErrors)
  }

  /// Whether a further response could continue where this one broke off. Without ranges it starts
  /// at its first byte. If neither a length nor a validator confirms that it is the same, it can
  /// only continue if all bytes so far are stored: then they are compared.
  func canGoOn(_ id: FetchID) -> Bool {
    if handed != nil { return false }
    guard let fetch = fetches[id], fetch.isWhole, fetch.position > 0 else { return true }
    if isLive { return false }
    return !isUnrepeatable || stored.byteCount(in: 0..<fetch.position) == fetch.position
  }

  /// - Parameters:
  ///   - error: for readers waiting for its bytes; nil if they may ask again.
  ///   - isForBackground: whether only background readers receive the error.
  mutating func fetchEnded(
    _ id: FetchID, error: MediaCacheError?, isForBackground: Bool = false
  ) {
    guard let fetch = fetches.removeValue(forKey: id) else { return }
    recount()
    if let error {
      let waiting = waitingReaders
      let failed = waits.filter { wait in
        if fetch.isConfirmation { return wait.reader.awaitsConfirmation }
        if isForBackground, !wait.reader.isBackground { return false }
        guard let offset = wait.offset else { return info == nil }
        return !wait.reader.awaitsConfirmation && offset >= fetch.position
          && offset < fetch.range.upperBound
      }
      wake(failed, with: error)
      if isForBackground {
        // A failed fetch must not restart whenever another reader waits: those in the background
        // that wait for nothing else rest until they ask again.
        let waiting = waitingReaders
        for (id, reader) in readers where reader.isBackground && !waiting.contains(id) {
          readers[id]?.activity = .idle
        }
      }
      // Readers that were not waiting receive it once they wait.
      let position = info == nil ? 0 : fetch.position
      if info == nil ? error.status != nil : error.retry == .cutShort && comesWhole {
        for (id, reader) in readers where !waiting.contains(id) && misses(reader, position) {
          readers[id]?.missed = (position, error)
        }
      }
    }
    // Readers that came while a confirmation was being called off have waited for it in vain.
    if fetch.isConfirmation, !isOver,
      let wait = waits.first(where: \.reader.awaitsConfirmation)
    {
      confirm(for: wait.reader, at: wait.offset)
    }
    wakeServed()
    if waiters.isEmpty { return }
    guard handed != nil, fetches.isEmpty else { return plan() }
    wake(waits, with: Self.handedInPart)
  }

  // MARK: The generation

  mutating func supersede() {
    // Readers of a closed cache are told of nothing else.
    if life != .closed { life = .superseded }
    // The file has no users here: closing it frees its blocks once it is removed.
    if !storage.isPrepared, !hasBeenRead { storage.releaseFile() }
    endAll(waitsWith: nil)
  }

  mutating func close() {
    life = .closed
    endAll(waitsWith: Self.closed)
  }

  /// Follows the cache into or out of offline mode: while it is offline, no request runs.
  mutating func setOffline(_ isOffline: Bool) {
    guard self.isOffline != isOffline else { return }
    self.isOffline = isOffline
    guard isOffline else { return }
    for id in readers.keys { readers[id]?.awaitsConfirmation = false }
    // Waiting readers look up their offset again: they receive stored bytes, or an error.
    endAll(waitsWith: nil)
  }

  private mutating func endAll(waitsWith error: (any Error)?) {
    for id in fetches.keys { resume(id) }
    actions += fetches.values.compactMap(\.task).map { .cancel($0) }
    wake(waits, with: error)
  }
}
