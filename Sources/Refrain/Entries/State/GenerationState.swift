// SPDX-License-Identifier: MIT
package import Foundation

typealias ReaderID = UInt64
typealias FetchID = UInt64
typealias WaiterID = UInt64

package enum AvailableBytes: Sendable {
  case file(EntryFile, upTo: Int64)
  case memory(Data)
  case end
}

/// Everything known of one generation while it is open. A pure value: its methods leave `actions`
/// to carry out outside the lock.
struct GenerationState: Sendable {
  enum Action: Sendable {
    case startFetch(FetchID, ByteRange)
    case cancel(Task<Void, Never>)
    case wake([Wake], (any Error)?)
    case watchAbandoned
  }

  enum Life: Sendable { case current, superseded, closed }

  enum Lookup<Found: Sendable>: Sendable {
    case found(Found)
    case wait
    /// Another generation has taken over, and this reader has read nothing of this one.
    case moved
    case failed(MediaCacheError)

    var isWait: Bool { if case .wait = self { true } else { false } }
  }

  var limits: FetchPlan
  private(set) var isOffline: Bool
  var trustsStored = false
  private(set) var life = Life.current

  var representation = Representation() { didSet { lastKnown = nil } }
  private(set) var lastKnown: StoredResponse?
  var storage = StoredBytes()
  var transient = TransientBytes()
  var readers = Readers()
  var fetches = Fetches()

  private(set) var nextID: UInt64 = 1
  var actions: [Action] = []

  mutating func takeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  mutating func makeID() -> UInt64 {
    defer { nextID += 1 }
    return nextID
  }

  mutating func add(_ reader: Reader) -> ReaderID {
    let id = makeID()
    readers.add(reader, as: id)
    return id
  }

  mutating func wake(_ waits: [Wait], with error: (any Error)? = nil) {
    let wakes = readers.end(waits)
    if !wakes.isEmpty { actions.append(.wake(wakes, error)) }
  }

  mutating func establish(_ information: ContentInformation) {
    representation.info = information
    if let length {
      for (id, fetch) in fetches.all where fetch.range.upperBound > length {
        fetches[id]?.range = min(fetch.range.lowerBound, length)..<length
      }
    }
    wakeServed()
  }

  mutating func end(at length: Int64) {
    guard var information = info, information.length == nil else { return }
    information.length = length
    storage.noteRecordStale()
    establish(information)
  }

  mutating func supersede() {
    if life != .closed { life = .superseded }
    // Its blocks are in use until it is closed.
    if !storage.isPrepared, !hasBeenRead { storage.releaseFile() }
    endAll(waitsWith: nil)
  }

  mutating func close() {
    life = .closed
    endAll(waitsWith: Self.closed)
  }

  mutating func setOffline(_ isOffline: Bool) {
    guard self.isOffline != isOffline else { return }
    self.isOffline = isOffline
    guard isOffline else { return }
    for id in readers.all.keys { readers[id]?.confirm() }
    // They look again, and receive stored bytes, or an error.
    endAll(waitsWith: nil)
  }

  private mutating func endAll(waitsWith error: (any Error)?) {
    actions += fetches.values.compactMap(\.task).map { .cancel($0) }
    wake(readers.waits, with: error)
  }

  static let closed = MediaCacheError(.closed, "The cache was closed.")
}

extension GenerationState {
  var info: ContentInformation? { representation.info }
  var length: Int64? { info?.length }
  var validator: Validator { representation.validator }
  var freshness: Freshness? { representation.freshness }
  /// The same object until something changes; nil before the first response.
  var known: StoredResponse? {
    @inline(never)
    mutating get {
      if lastKnown == nil { lastKnown = StoredResponse(representation) }
      return lastKnown
    }
  }

  var stored: RangeSet<Int64> { storage.spans }
  var file: EntryFile? { storage.file }
  var generationID: String? { storage.generationID }
  var isTransient: Bool { storage.refusal != nil }
  var storageProblem: MediaCacheError { storage.refusal?.problem ?? .noRoom }

  var isOver: Bool { life != .current }

  var readable: RangeSet<Int64> { transient.isEmpty ? stored : stored.union(transient.spans) }

  var isComplete: Bool { length.map { stored.end(from: 0) >= $0 } ?? false }

  /// Returns the first offset from `offset` on that is not stored; nil if all are.
  func hole(from offset: Int64) -> Int64? {
    let hole = stored.end(from: offset)
    return hole < length ?? .max ? hole : nil
  }

  var hasBeenRead: Bool { readers.values.contains(where: \.hasRead) }
}
