// SPDX-License-Identifier: MIT

extension GenerationState {
  struct Reader: Sendable {
    enum Activity {
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
    /// Whether it has declared that it reads everything up to `end`.
    var readsOn = false
    var isBackground = false
    /// Whether all of the resource is fetched while it is open (`FillPolicy.wholeResource`).
    var fillsWhole = false
    /// The smallest request made for it.
    var minimum: Int64 = 1
    var activity = Activity.idle
    /// Whether it has received bytes of this generation, so that it cannot move to another.
    var hasRead = false
    /// Whether it found bytes at its position.
    var wasServed = false
    /// Whether it waits for bytes until the origin has confirmed this generation.
    var awaitsConfirmation = false
    /// The error of a request that it has come upon without waiting there yet (`keepMissed`).
    var missed: (position: Int64, error: MediaCacheError)?
    var terms = ReadTerms()
    /// What it was opened for; nil: it makes no request of its own.
    var resource: Resource?

    /// Whether it has asked for something.
    var isActive: Bool { activity != .idle }
    /// Whether it has asked for bytes.
    var isReading: Bool { activity == .reading || activity == .aboutToWait }
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// The offset waited for; nil for the content information.
    var offset: Int64?
    var wake: Wake
  }

  /// Wakes what waits: a task, or a thread that blocks.
  typealias Wake = @Sendable (Result<Void, any Error>) -> Void

  /// The readers of a generation, what they wait for, and how they have moved. A pure value.
  struct Readers: Sendable, Sequence {
    private var attached: [ReaderID: Reader] = [:]
    private(set) var waiters: [WaiterID: Waiter] = [:]
    /// Readers of the previous generation, under their identifiers there, that had requested
    /// something and read nothing when this one replaced it. They are about to arrive, so fetches
    /// begun for them continue.
    var expected: Set<ReaderID> = []
    /// How far recent readers read in sequence before a seek or their end, in bytes; the latest last.
    private var runs: [Int64] = []
    var departure = Departure.nobody

    /// Whether a reader has jumped elsewhere, or left, since requests without readers were last
    /// looked for.
    enum Departure: Sendable, Comparable {
      case nobody
      case afterShortRun
      /// It had read sequentially for a while before.
      case afterLongRun
    }

    subscript(id: ReaderID) -> Reader? {
      get { attached[id] }
      set { attached[id] = newValue }
    }

    func makeIterator() -> Dictionary<ReaderID, Reader>.Iterator { attached.makeIterator() }

    var ids: Dictionary<ReaderID, Reader>.Keys { attached.keys }
    var values: Dictionary<ReaderID, Reader>.Values { attached.values }
    var isEmpty: Bool { attached.isEmpty }
    var count: Int { attached.count }

    /// Whether there are readers that may come to want fetched bytes.
    var mayWant: Bool { !attached.isEmpty || !expected.isEmpty }

    // MARK: Waiting

    /// A call that waits, and its reader.
    typealias Wait = (id: WaiterID, offset: Int64?, readerID: ReaderID, reader: Reader)

    var waits: [Wait] {
      waiters.compactMap { id, waiter in
        attached[waiter.reader].map { (id, waiter.offset, waiter.reader, $0) }
      }
    }

    /// Those that wait.
    var waitingIDs: Set<ReaderID> { Set(waiters.values.map(\.reader)) }

    /// Whether a player waits for bytes.
    var isPlayerWaiting: Bool { waits.contains { $0.offset != nil && !$0.reader.isBackground } }

    mutating func add(_ waiter: Waiter, as id: WaiterID) { waiters[id] = waiter }

    /// - Returns: what wakes these calls.
    mutating func take(_ waits: [Wait]) -> [Wake] {
      waits.compactMap { waiters.removeValue(forKey: $0.id)?.wake }
    }

    // MARK: Moving

    /// The longest recent run: the next reader is expected to do the same. Nil while there are few,
    /// which say nothing: a player looks at the beginning and at the end before it plays.
    var usualRun: Int64? { runs.count < 4 ? nil : runs.max() }

    /// Records that a reader has jumped elsewhere, rests, or leaves.
    ///
    /// - Parameters:
    ///   - length: of the resource; nil if unknown.
    ///   - longRun: the bytes from which on a run is a long one.
    mutating func runEnded(of reader: Reader, length: Int64?, longRun: Int64) {
      let isLong = !reader.isBackground && reader.runLength >= longRun
      departure = Swift.max(departure, isLong ? .afterLongRun : .afterShortRun)
      // A reader at its end could not have continued.
      let end = Swift.min(reader.end, length ?? .max)
      guard reader.hasRead, !reader.isBackground, reader.position < end, reader.runLength > 0 else {
        return
      }
      runs = runs.suffix(7) + [reader.runLength]
    }
  }
}
