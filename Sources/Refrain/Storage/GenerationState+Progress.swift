// SPDX-License-Identifier: MIT

/// Whether fetches bring what readers wait for, and which of them a reader is short of.
extension GenerationState {
  /// A reader was given bytes, or this fetch has brought some: an outage is waited out.
  func isPlaying(_ id: FetchID) -> Bool {
    (fetches[id]?.brought ?? 0) > 0 || readers.values.contains { $0.wasServed || $0.hasRead }
  }

  // MARK: In vain

  /// Ending this fetch now would leave somebody waiting for what it was to bring, although it came
  /// to its end without having brought anything. A further request would do no better: it is made
  /// after a wait, or never, but not at once.
  func endsInVain(_ id: FetchID) -> Bool {
    guard let fetch = fetches[id] else { return false }
    return waiters.values.contains { isLeft($0, by: fetch, id) }
  }

  private func isLeft(_ waiter: Waiter, by fetch: Fetch, _ id: FetchID) -> Bool {
    guard !fetch.isConfirmation, !fetch.isCalledOff, fetch.brought == 0, hasAudience,
      readers[waiter.reader]?.awaitsConfirmation == false, !isServed(waiter)
    else { return false }
    let others = fetches.filter { $0.key != id && $0.value.bringsBytes }.values
    guard let offset = waiter.offset else { return others.isEmpty }
    return fetch.isAhead(offset) && !others.contains { $0.isAhead(offset) }
  }

  static let nothingCame = MediaCacheError(
    .invalidResponse, "The origin's answer brought none of the bytes that were asked for.",
    remedy: "Nothing of it was kept; the origin, or a proxy before it, needs repair.")

  // MARK: Short of bytes

  /// What is safe ahead of a reader at least, in bytes.
  private static let leastSafe: Int64 = 1 << 20

  mutating func beginBody(_ id: FetchID) -> [Action] {
    fetches[id]?.hasBody = true
    return recount()
  }

  mutating func endBody(_ id: FetchID) -> [Action] {
    fetches[id]?.hasBody = false
    return recount()
  }

  /// Finds out which fetches a player is short of by now.
  mutating func recount() -> [Action] {
    var change = 0
    for (id, fetch) in fetches where fetch.hasBody || fetch.isCounted {
      let isShort = fetch.hasBody && isShort(of: fetch)
      guard isShort != fetch.isCounted else { continue }
      fetches[id]?.isCounted = isShort
      change += isShort ? 1 : -1
    }
    return change == 0 ? [] : [.countShort(change)]
  }

  /// A player waits for what the fetch brings, or has less ahead than is safe. A live stream comes
  /// as slowly as it plays, however fast the network: only its start is waited for.
  func isShort(of fetch: Fetch) -> Bool {
    guard !fetch.isBackground, !isSuperseded, !isClosed else { return false }
    if isLive, liveEnd >= limits.firstRequest { return false }
    let isWaitedFor = waiters.values.contains { waiter in
      readers[waiter.reader]?.isBackground == false
        && (waiter.offset.map(fetch.isAhead) ?? (info == nil))
    }
    if isWaitedFor { return true }
    let readable = readable
    return readers.values.contains { reader in
      guard reader.isActive, !reader.isBackground else { return false }
      let end = readable.range(containing: reader.position)?.upperBound ?? reader.position
      return end < reader.end && fetch.isAhead(end)
        && end - reader.position < safeDistance(for: reader)
    }
  }

  /// Half of the window that is fetched ahead, at which the next request is made; and never less
  /// than plays for some seconds.
  private func safeDistance(for reader: Reader) -> Int64 {
    let demand = FetchPlan.Demand(
      position: reader.position, runLength: reader.runLength, isWaiting: false,
      isBackground: false, minimum: 1)
    return max(limits.window(for: demand) / 2, min(Self.leastSafe, limits.maximumReadAhead / 2))
  }
}

extension GenerationState.Fetch {
  /// It is still to bring the byte at an offset.
  func isAhead(_ offset: Int64) -> Bool { position <= offset && offset < range.upperBound }
}
