// SPDX-License-Identifier: MIT
import Foundation

/// Facts learned about the resource, and the end of a generation.
extension GenerationState {
  /// Adopts the origin's description of the resource.
  mutating func establish(_ information: ContentInformation) {
    representation.info = information
    if let length = information.length { fetches.bound(to: length) }
    wakeServed()
  }

  /// Whether the resource is known to be no web page.
  func isNoPage(at url: URL) -> Bool {
    guard let info else { return representation.followsNoPage }
    return MediaType.isKnownNoPage(info.mimeType, url: url)
  }

  /// Sets a length that was unknown until the end of the resource was reached.
  mutating func end(at length: Int64) {
    guard info?.length == nil else { return }
    representation.info?.length = length
    fetches.bound(to: length)
    wakeServed()
  }

  /// Ends a fetch.
  ///
  /// - Parameters:
  ///   - error: the error for readers waiting for its bytes; nil if they may ask again.
  ///   - isForBackground: whether only background readers receive the error.
  mutating func fetchEnded(
    _ id: FetchID, error: MediaCacheError?, isForBackground: Bool = false
  ) {
    guard let fetch = fetches.remove(id) else { return }
    if fetch.isCounted { actions.append(.countShort(-1)) }
    if let error {
      let information = info
      let waiting = readers.waitingIDs
      let wakes = readers.takeWaiters { waiter, reader in
        let awaits = reader?.awaitsConfirmation == true
        if fetch.isConfirmation { return awaits }
        if isForBackground, reader?.isBackground != true { return false }
        guard let offset = waiter.offset else { return information == nil }
        return !awaits && offset >= fetch.position && offset < fetch.range.upperBound
      }
      wake(wakes, with: error)
      if isForBackground { restBackground() }
      keepCut(error, of: fetch, except: waiting)
    }
    // Readers that came while a confirmation was being called off have waited for it in vain.
    if fetch.isConfirmation, !isOver,
      let waiter = readers.waiters.values.first(where: {
        readers[$0.reader]?.awaitsConfirmation == true
      }),
      let reader = readers[waiter.reader]
    {
      confirm(for: reader, at: waiter.offset)
    }
    wakeServed()
    if readers.waiters.isEmpty { return }
    guard handed != nil, fetches.isEmpty else { return plan() }
    wake(readers.takeWaiters(), with: Self.handedInPart)
  }

  /// Deactivates background readers that received an error and wait for nothing else, until they
  /// ask again: a failed fetch must not restart whenever another reader waits.
  private mutating func restBackground() {
    let waiting = readers.waitingIDs
    for (id, reader) in readers where reader.isBackground && !waiting.contains(id) {
      readers[id]?.activity = .idle
    }
  }

  /// Records that the origin has confirmed the generation, or cannot be asked.
  mutating func confirmed(at now: Moment, except refused: Set<ReaderID> = []) {
    lastContact = .responded(at: now.uptime)
    for id in readers.ids where !refused.contains(id) {
      readers[id]?.awaitsConfirmation = false
    }
    // All readers look again: their bytes may have been there all along.
    wakeServed()
    plan()
  }

  /// Whether the confirmation is awaited for a few seconds only: a reader that waits for it plays
  /// without it then, or the next version of a live document would come too late.
  func confirmsBriefly(at now: Moment) -> Bool {
    let time = wallTime(at: now)
    return freshness?.pace?.isLive == true
      || readers.values.contains {
        $0.awaitsConfirmation && $0.terms.acceptUnconfirmed(freshness, at: time)
      }
  }

  /// Records that the origin could not be asked: readers that accept stale bytes continue.
  mutating func unconfirmed(_ error: MediaCacheError, at now: Moment) {
    let time = wallTime(at: now)
    let refused = Set(
      readers.filter {
        $0.value.awaitsConfirmation && !$0.value.terms.acceptUnconfirmed(freshness, at: time)
      }.map(\.key))
    let wakes = readers.takeWaiters { waiter, _ in refused.contains(waiter.reader) }
    confirmed(at: now, except: refused)
    lastContact = .unreachable(at: now.uptime)
    wake(wakes, with: error)
  }

  /// Ends the generation after a newer one has replaced it.
  mutating func supersede() {
    end(.superseded)
    // The file has no users here: closing it frees its blocks once it is removed.
    if !storage.isPrepared, !readers.values.contains(where: \.hasRead) { storage.releaseFile() }
    endAll(waitersWith: nil)
  }

  /// Ends the generation for good.
  mutating func close() {
    end(.closed)
    endAll(waitersWith: Self.closed)
  }

  mutating func endAll(waitersWith error: (any Error)?) {
    for id in fetches.ids { actions += fetches.resume(id) }
    actions += fetches.cancelAll()
    wake(readers.takeWaiters(), with: error)
  }
}
