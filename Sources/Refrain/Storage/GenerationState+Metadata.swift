// SPDX-License-Identifier: MIT
import Foundation

/// What becomes known of the resource, and how a generation ends.
extension GenerationState {
  /// The origin has told what the resource is.
  mutating func establish(_ information: ContentInformation, whole id: FetchID?) -> [Action] {
    info = information
    var actions: [Action] = []
    if let id, fetches[id] != nil {
      // From its first byte to its end, whatever was asked for.
      fetches[id]?.isWhole = true
      fetches[id]?.range = 0..<(information.length ?? .max)
      fetches[id]?.position = 0
    }
    if let length = information.length { actions += bound(length) }
    return wakeServed() + actions
  }

  /// Whether the resource is known to be no web page.
  func isNoPage(at url: URL) -> Bool {
    guard let info else { return followsNoPage }
    return MediaType.isKnownNoPage(info.mimeType, url: url)
  }

  /// The length has become known: nothing lies beyond it.
  mutating func bound(_ length: Int64) -> [Action] {
    for (id, fetch) in fetches where fetch.range.upperBound > length {
      let lower = min(fetch.range.lowerBound, length)
      fetches[id]?.range = lower..<length
    }
    return []
  }

  /// Where the resource ends has been found out by coming to its end.
  mutating func end(at length: Int64) -> [Action] {
    guard info?.length == nil else { return [] }
    info?.length = length
    return bound(length) + wakeServed()
  }

  /// An answer to a question from before the resource was changed says nothing of how it is now.
  func outdatedIfAsked(at time: Date, _ freshness: Freshness) -> Freshness {
    guard let invalidatedAt, time <= invalidatedAt else { return freshness }
    return freshness.outdated
  }

  /// A fetch is over.
  ///
  /// - Parameters:
  ///   - error: what those who wait for its bytes are told; nil: they may ask again.
  ///   - isForBackground: readers that play may ask again all the same.
  mutating func fetchEnded(
    _ id: FetchID, error: MediaCacheError?, isForBackground: Bool = false
  ) -> [Action] {
    guard let fetch = fetches.removeValue(forKey: id) else { return [] }
    var actions: [Action] = fetch.isCounted ? [.countShort(-1)] : []
    if let error {
      let readers = readers
      let information = info
      let wakes = takeWaiters { waiter in
        let awaits = readers[waiter.reader]?.awaitsConfirmation == true
        if fetch.isConfirmation { return awaits }
        if isForBackground, readers[waiter.reader]?.isBackground != true { return false }
        guard let offset = waiter.offset else { return information == nil }
        return !awaits && offset >= fetch.position && offset < fetch.range.upperBound
      }
      if !wakes.isEmpty { actions.append(.wake(wakes, error)) }
      if isForBackground { restBackground() }
    }
    // Who came while a confirmation was being called off has waited for it in vain.
    if fetch.isConfirmation, !isSuperseded, !isClosed,
      let waiter = waiters.values.first(where: { readers[$0.reader]?.awaitsConfirmation == true }),
      let reader = readers[waiter.reader]
    {
      actions += confirm(for: reader, at: waiter.offset)
    }
    return actions + wakeServed() + (waiters.isEmpty ? [] : plan())
  }

  /// Readers in the background that were told why not, and wait for nothing else, ask for nothing
  /// until they come again: what failed is not to be begun anew as soon as anybody else waits.
  private mutating func restBackground() {
    let waiting = Set(waiters.values.map(\.reader))
    for (id, reader) in readers where reader.isBackground && !waiting.contains(id) {
      readers[id]?.isActive = false
    }
  }

  /// The origin has confirmed the generation, or cannot be asked.
  mutating func confirmed(
    at now: Moment, except refused: Set<ReaderID> = []
  ) -> [Action] {
    vouchedAt = now.uptime
    for id in readers.keys where !refused.contains(id) {
      readers[id]?.awaitsConfirmation = false
    }
    // All of them look again: what they wait for may have been there all along.
    return wakeServed() + plan()
  }

  /// The origin could not be asked: those go on that take what is stale.
  mutating func unconfirmed(_ error: MediaCacheError, at now: Moment) -> [Action] {
    let time = wallTime(at: now)
    let refused = Set(
      readers.filter {
        $0.value.awaitsConfirmation && !$0.value.terms.acceptUnconfirmed(freshness, at: time)
      }.keys)
    let wakes = takeWaiters { refused.contains($0.reader) }
    let actions = confirmed(at: now, except: refused)
    return wakes.isEmpty ? actions : actions + [.wake(wakes, error)]
  }

  /// A newer generation has taken this one's place.
  mutating func supersede() -> [Action] {
    isSuperseded = true
    // Nobody reads or writes it here any more: what it takes is free once it is removed.
    if !isPrepared, !readers.values.contains(where: \.hasRead) { file = nil }
    return endAll(waitersWith: nil)
  }

  /// Nothing goes on from here.
  mutating func close() -> [Action] {
    isClosed = true
    return endAll(waitersWith: Self.closed)
  }

  mutating func endAll(waitersWith error: (any Error)?) -> [Action] {
    var actions: [Action] = []
    for (id, fetch) in fetches {
      if let paused = fetch.paused {
        fetches[id]?.paused = nil
        actions.append(.resume(paused))
      }
      if let task = fetch.task { actions.append(.cancel(task)) }
    }
    let wakes = takeWaiters { _ in true }
    if !wakes.isEmpty { actions.append(.wake(wakes, error)) }
    return actions
  }
}
