// SPDX-License-Identifier: MIT

/// Whether fetches bring the bytes that readers wait for, and which fetches a reader is short of.
extension GenerationState {
  /// Whether a reader has received bytes or this fetch has brought some: then an outage is waited
  /// out.
  func isPlaying(_ id: FetchID) -> Bool {
    (fetches[id]?.brought ?? 0) > 0 || readers.values.contains { $0.wasServed || $0.hasRead }
  }

  // MARK: In vain

  /// Whether this fetch is ending without having brought anything while readers wait for its bytes.
  /// Another request at once would do no better: it is made after a delay, or never.
  func endsInVain(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id], handed == nil else { return false }
    return readers.waiters.values.contains { isLeft($0, by: fetch, id) }
  }

  private func isLeft(_ waiter: Waiter, by fetch: RunningFetch, _ id: FetchID) -> Bool {
    guard !fetch.isConfirmation, !fetch.isCalledOff, fetch.brought == 0, hasAudience,
      readers[waiter.reader]?.awaitsConfirmation == false, !isServed(waiter)
    else { return false }
    let others = fetches.filter { $0.key != id && $0.value.bringsBytes }.map(\.value)
    guard let offset = waiter.offset else { return others.isEmpty }
    return fetch.ahead.contains(offset) && !others.contains { $0.ahead.contains(offset) }
  }

  static let nothingCame = MediaCacheError(
    .invalidResponse, "The origin's response contained none of the requested bytes.",
    remedy: "The response was discarded; the origin, or a proxy before it, needs repair.")

  // MARK: Short of bytes

  /// The smallest safe distance ahead of a reader, in bytes.
  private static let leastSafe: Int64 = 1 << 20

  mutating func beginBody(_ id: FetchID) {
    fetches[id]?.beginBody()
    recount()
  }

  mutating func endBody(_ id: FetchID) {
    fetches[id]?.endBody()
    recount()
  }

  /// Recounts the fetches that a player is short of.
  mutating func recount() {
    var change = 0
    for (id, fetch) in fetches where fetch.hasBody || fetch.isCounted {
      let isShort = fetch.hasBody && isShort(of: fetch)
      guard isShort != fetch.isCounted else { continue }
      fetches[id]?.isCounted = isShort
      change += isShort ? 1 : -1
    }
    if change != 0 { actions.append(.countShort(change)) }
  }

  /// Whether a player waits for the fetch's bytes, or has less ahead than is safe. A live stream
  /// arrives as slowly as it plays on any network, so only its start counts.
  func isShort(of fetch: RunningFetch) -> Bool {
    guard !fetch.isBackground, !isOver else { return false }
    if let liveEnd, liveEnd >= limits.firstRequest { return false }
    let isWaitedFor = readers.waiters.values.contains { waiter in
      readers[waiter.reader]?.isBackground == false
        && (waiter.offset.map(fetch.ahead.contains) ?? (info == nil))
    }
    if isWaitedFor { return true }
    let readable = readable
    return readers.values.contains { reader in
      guard reader.isActive, !reader.isBackground else { return false }
      let end = readable.end(from: reader.position)
      return end < reader.end && fetch.ahead.contains(end)
        && end - reader.position < safeDistance(for: reader)
    }
  }

  /// Half of the read-ahead window, at which the next request is made, but at least what plays for
  /// some seconds.
  private func safeDistance(for reader: Reader) -> Int64 {
    max(
      limits.window(afterRun: reader.runLength) / 2,
      min(Self.leastSafe, limits.maximumReadAhead / 2))
  }
}

extension GenerationState {
  /// Whether a reader that waits passes on the origin's error response.
  var passesOnErrors: Bool {
    readers.values.contains { $0.terms.passesOnErrors && !$0.hasRead }
  }

  /// How many error responses in a row are reported without a delay, while nothing is known and
  /// every reader wants them reported; nil if `RetryPolicy` decides.
  var mostErrors: Int? {
    guard info == nil, !readers.isEmpty, readers.values.allSatisfy(\.terms.passesOnErrors) else {
      return nil
    }
    return 2
  }
}
