// SPDX-License-Identifier: MIT
package import Foundation

typealias ReaderID = UInt64
typealias FetchID = UInt64
typealias WaiterID = UInt64

/// The bytes that a reader finds at an offset.
package enum AvailableBytes: Sendable {
  /// In the file, from the offset up to `upTo`.
  case file(EntryFile, upTo: Int64)
  /// In memory, from the offset on.
  case memory(Data)
  case end
}

/// Everything known of one generation while it is open: its bytes, its readers' positions, and its
/// fetches. A pure value: its methods change it, and leave `actions` to carry out outside the lock.
struct GenerationState: Sendable {
  /// An action to carry out after the lock is released.
  enum Action: Sendable {
    case startFetch(FetchID, ByteRange)
    case cancel(Task<Void, Never>)
    case wake([Wake], (any Error)?)
    /// A player waits for bytes of a background fetch, which may have to repeat its request.
    case promoted(beginAnew: (@Sendable () -> Void)?)
    case watchAbandoned
    /// Change the number of fetches that a player is short of.
    case countShort(Int)
  }

  enum Life: Sendable {
    case current
    /// Another generation has replaced it.
    case superseded
    case closed
  }

  /// What a reader finds: bytes at an offset, or the properties of the resource.
  enum Lookup<Found: Sendable>: Sendable {
    case found(Found)
    case wait
    /// Another generation has taken over, and this reader has read nothing of this one.
    case moved
    case failed(MediaCacheError)
  }

  var limits: FetchPlan
  var isOffline: Bool
  /// Whether stored bytes are never revalidated.
  var trustsStored = false
  var life = Life.current

  var representation = Representation()
  /// When the origin last responded for this generation, or could not be asked; nil if neither has
  /// happened since the entry was opened.
  var lastContact: (time: Uptime, isReached: Bool)?
  var ranges = OriginRanges.announced
  /// The end of the bytes received of a live stream, which is for those that read it while it arrives:
  /// one response is the whole generation. Nil if it is none.
  var liveEnd: Int64?
  /// The response that one reader alone receives; nil: every reader may.
  var handed: Handed?

  var storage = StoredBytes()
  var transient = TransientBytes()

  var readers: [ReaderID: Reader] = [:]
  var waiters: [WaiterID: Waiter] = [:]
  /// Readers of the previous generation, under their identifiers there, that had requested
  /// something and read nothing when this one replaced it. They are about to arrive, so fetches
  /// begun for them continue.
  var expected: Set<ReaderID> = []
  /// How far recent readers read in sequence before a seek or their end, in bytes; the latest last.
  var runs: [Int64] = []
  var departure = Departure.nobody
  var fetches: [FetchID: RunningFetch] = [:]
  /// The positions of fetches without readers, as last looked at; nil: they are not being watched.
  var watched: [FetchID: Int64]?
  var lastCut: LastCut?
  /// The number of fetches that a player is short of, as last reported.
  var shortCount = 0
  var nextID: UInt64 = 1

  var actions: [Action] = []

  mutating func takeActions() -> [Action] {
    if actions.isEmpty { return [] }
    defer { actions = [] }
    return actions
  }

  mutating func makeID() -> UInt64 {
    defer { nextID += 1 }
    return nextID
  }

  var isOver: Bool { life != .current }

  var readable: RangeSet<Int64> {
    transient.isEmpty ? stored : stored.union(transient.spans)
  }

  var isComplete: Bool { length.map { stored.end(from: 0) >= $0 } ?? false }

  /// Returns the first offset from `offset` on that is not stored; nil if all are.
  func hole(from offset: Int64) -> Int64? {
    let hole = stored.end(from: offset)
    return hole < length ?? .max ? hole : nil
  }

  // MARK: The resource

  /// Adopts the origin's description of the resource.
  mutating func establish(_ information: ContentInformation) {
    representation.info = information
    if let length {
      for (id, fetch) in fetches where fetch.range.upperBound > length {
        fetches[id]?.range = min(fetch.range.lowerBound, length)..<length
      }
    }
    wakeServed()
  }

  /// Sets a length that was unknown until the end of the resource was reached.
  mutating func end(at length: Int64) {
    guard var information = info, information.length == nil else { return }
    information.length = length
    establish(information)
  }

  /// Whether the resource is known to be no web page.
  func isNoPage(at url: URL) -> Bool {
    info.map { MediaType.isKnownNoPage($0.mimeType, url: url) } ?? representation.followsNoPage
  }
}

/// The most used properties of its parts.
extension GenerationState {
  var info: ContentInformation? { representation.info }
  var length: Int64? { info?.length }
  var validator: Validator { representation.validator }
  var freshness: Freshness? { representation.freshness }
  /// The stored response, the same object until something changes; nil before the first response.
  var known: StoredResponse? {
    mutating get { representation.known }
  }

  var stored: RangeSet<Int64> { storage.spans }
  var file: EntryFile? { storage.file }
  var generationID: String? { storage.generationID }
  /// Whether bytes are not stored.
  var isTransient: Bool { storage.refusal != nil }
  var storageProblem: MediaCacheError { storage.refusal?.problem ?? .noRoom }
  var needsSync: Bool { storage.needsSync && life != .closed }
}
