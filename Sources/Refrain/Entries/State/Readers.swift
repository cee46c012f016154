// SPDX-License-Identifier: MIT

extension GenerationState {
  struct Reader: Sendable {
    enum Activity: Comparable {
      /// It has asked for nothing yet, or rests.
      case idle
      /// It has asked for the properties of the resource, and for no bytes.
      case asking
      /// It was told to wait for its bytes, and is about to.
      case aboutToWait
      /// It is expected to read on from its position.
      case reading
    }

    var position: Int64 = 0
    var runLength: Int64 = 0
    var end: Int64 = .max
    /// Whether it reads everything up to `end`.
    var readsOn = false
    var isBackground = false
    /// Whether all of the resource is fetched while it is open (`FillPolicy.wholeResource`).
    var fillsWhole = false
    /// The smallest request made for it.
    var minimum: Int64 = 1
    var activity = Activity.idle
    /// Whether it has bytes of this generation, so that it cannot move to another.
    var hasRead = false
    /// Whether it waits for bytes until the origin has confirmed this generation.
    var awaitsConfirmation = false
    /// The origin's refusal of a request that its filling has made before it asked for anything.
    var refusal: MediaCacheError?
    var terms = ReadTerms()
    /// What it was opened for; nil: it makes no request of its own.
    var resource: Resource?

    var isActive: Bool { activity > .idle }
    var isReading: Bool { activity >= .aboutToWait }

    /// Has it read everything from an offset on.
    mutating func readOn(from offset: Int64) {
      readsOn = true
      if offset >= end { end = .max }
    }

    /// Moves it ahead by bytes that it found at its position.
    mutating func advance(by count: Int64) {
      if count > 0 { hasRead = true }
      position += count
      runLength += count
    }
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// The offset waited for; nil for the content information.
    var offset: Int64?
    var wake: Wake
  }

  typealias Wake = @Sendable (Result<Void, any Error>) -> Void

  /// A call that waits, and its reader.
  typealias Wait = (id: WaiterID, offset: Int64?, readerID: ReaderID, reader: Reader)

  /// The readers of a generation, and their calls that wait: what is added here is ended once. A pure
  /// value.
  struct Readers: Sendable {
    /// Whether a reader has jumped elsewhere, or left, since requests without readers were last looked
    /// for.
    enum Departure: Sendable, Comparable {
      case nobody
      case afterShortRun
      /// It had read sequentially for a while before.
      case afterLongRun
    }

    private(set) var all: [ReaderID: Reader] = [:]
    private(set) var waiters: [WaiterID: Waiter] = [:]
    /// Whether readers of the previous generation, which have read nothing of it, are about to
    /// arrive: the fetch that began this one continues for them, for a moment.
    var areExpected = false
    var departure = Departure.nobody
    /// How far recent readers read in sequence before a seek or their end, in bytes; the latest last.
    private var runs: [Int64] = []

    /// A reader; nothing changes for one that has left.
    subscript(id: ReaderID) -> Reader? {
      get { all[id] }
      set { if let newValue, all[id] != nil { all[id] = newValue } }
    }

    var values: Dictionary<ReaderID, Reader>.Values { all.values }
    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }

    /// Whether nobody is left who may come to want fetched bytes.
    var isDeserted: Bool { all.isEmpty && !areExpected }

    mutating func add(_ reader: Reader, as id: ReaderID) {
      all[id] = reader
      areExpected = false
    }

    mutating func remove(_ id: ReaderID) { all[id] = nil }

    // MARK: Waiting

    var waits: [Wait] {
      waiters.compactMap { id, waiter in
        all[waiter.reader].map { (id, waiter.offset, waiter.reader, $0) }
      }
    }

    /// Those that wait.
    var waiting: Set<ReaderID> { Set(waiters.values.map(\.reader)) }

    /// Whether a player waits for bytes.
    var isPlayerWaiting: Bool { waits.contains { $0.offset != nil && !$0.reader.isBackground } }

    mutating func add(_ waiter: Waiter, as id: WaiterID) { waiters[id] = waiter }

    /// - Returns: those that have not ended yet, to be woken.
    mutating func end(_ waits: [Wait]) -> [Wake] {
      waits.compactMap { waiters.removeValue(forKey: $0.id)?.wake }
    }

    // MARK: Moving

    /// The longest recent run: the next reader is expected to do the same. Nil while there are few,
    /// which say nothing: a player looks at the beginning and at the end before it plays.
    var usualRun: Int64? { runs.count < 4 ? nil : runs.max() }

    /// Records that a reader has jumped elsewhere, rests, or leaves.
    mutating func runEnded(_ reader: Reader, in length: Int64?, firstRequest: Int64) {
      let isLong = !reader.isBackground && reader.runLength >= 2 * firstRequest
      departure = max(departure, isLong ? .afterLongRun : .afterShortRun)
      // A reader at its end could not have continued.
      guard reader.hasRead, !reader.isBackground, reader.position < min(reader.end, length ?? .max),
        reader.runLength > 0
      else { return }
      runs = runs.suffix(7) + [reader.runLength]
    }
  }
}
