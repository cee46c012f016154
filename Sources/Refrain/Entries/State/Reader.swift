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
    /// Whether it has received bytes of this generation, so that it cannot move to another.
    var hasRead = false
    /// Whether it found bytes at its position.
    var wasServed = false
    /// Whether it waits for bytes until the origin has confirmed this generation.
    var awaitsConfirmation = false
    /// The error of a request that it has come upon without waiting there yet (`misses`).
    var missed: (position: Int64, error: MediaCacheError)?
    var terms = ReadTerms()
    /// What it was opened for; nil: it makes no request of its own.
    var resource: Resource?

    var isActive: Bool { activity > .idle }
    var isReading: Bool { activity >= .aboutToWait }
  }

  struct Waiter: Sendable {
    var reader: ReaderID
    /// The offset waited for; nil for the content information.
    var offset: Int64?
    var wake: Wake
  }

  typealias Wake = @Sendable (Result<Void, any Error>) -> Void

  /// Whether a reader has jumped elsewhere, or left, since requests without readers were last looked
  /// for.
  enum Departure: Sendable, Comparable {
    case nobody
    case afterShortRun
    /// It had read sequentially for a while before.
    case afterLongRun
  }

  /// Whether there are readers that may come to want fetched bytes.
  var hasReaders: Bool { !readers.isEmpty || !expected.isEmpty }

  /// Whether a reader has received bytes.
  var hasBeenRead: Bool { readers.values.contains(where: \.hasRead) }

  // MARK: Waiting

  /// A call that waits, and its reader.
  typealias Wait = (id: WaiterID, offset: Int64?, readerID: ReaderID, reader: Reader)

  var waits: [Wait] {
    waiters.compactMap { id, waiter in
      readers[waiter.reader].map { (id, waiter.offset, waiter.reader, $0) }
    }
  }

  var waitingReaders: Set<ReaderID> { Set(waiters.values.map(\.reader)) }

  /// Whether a player waits for bytes.
  var isPlayerWaiting: Bool { waits.contains { $0.offset != nil && !$0.reader.isBackground } }

  /// Ends the waits of readers.
  mutating func wake(_ waits: [Wait], with error: (any Error)? = nil) {
    let wakes = waits.compactMap { waiters.removeValue(forKey: $0.id)?.wake }
    if !wakes.isEmpty { actions.append(.wake(wakes, error)) }
  }

  // MARK: Moving

  /// The longest recent run: the next reader is expected to do the same. Nil while there are few,
  /// which say nothing: a player looks at the beginning and at the end before it plays.
  var usualRun: Int64? { runs.count < 4 ? nil : runs.max() }

  /// Records that a reader has jumped elsewhere, rests, or leaves.
  mutating func runEnded(_ reader: Reader) {
    let isLong = !reader.isBackground && reader.runLength >= 2 * limits.firstRequest
    departure = max(departure, isLong ? .afterLongRun : .afterShortRun)
    // A reader at its end could not have continued.
    guard reader.hasRead, !reader.isBackground, reader.position < min(reader.end, length ?? .max),
      reader.runLength > 0
    else { return }
    runs = runs.suffix(7) + [reader.runLength]
  }
}
