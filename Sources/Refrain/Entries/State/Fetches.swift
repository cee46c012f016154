// SPDX-License-Identifier: MIT

extension GenerationState {
  /// The fetches that run for a generation. A pure value.
  struct Fetches: Sendable, Sequence {
    private var running: [FetchID: RunningFetch] = [:]
    /// The positions of those without readers, as last looked at; nil: they are not being watched
    /// (`Action.watchAbandoned`).
    var watched: [FetchID: Int64]?
    var lastCut: LastCut?

    subscript(id: FetchID) -> RunningFetch? {
      get { running[id] }
      set { running[id] = newValue }
    }

    func makeIterator() -> Dictionary<FetchID, RunningFetch>.Iterator { running.makeIterator() }

    var ids: Dictionary<FetchID, RunningFetch>.Keys { running.keys }
    var values: Dictionary<FetchID, RunningFetch>.Values { running.values }
    var isEmpty: Bool { running.isEmpty }
    var count: Int { running.count }
    var positions: [FetchID: Int64] { running.mapValues(\.position) }

    /// Whether one of them, besides a given one, has yet to bring the byte at an offset.
    func bring(_ offset: Int64, besides id: FetchID? = nil) -> Bool {
      running.contains {
        $0.key != id && $0.value.bringsBytes && $0.value.ahead.contains(offset)
      }
    }

    mutating func remove(_ id: FetchID) -> RunningFetch? { running.removeValue(forKey: id) }

    mutating func move(_ id: FetchID, to position: Int64) {
      guard let fetch = running[id] else { return }
      running[id]?.position = Swift.max(fetch.position, position)
    }

    /// Limits every fetch to the length of the resource.
    mutating func bound(to length: Int64) {
      for (id, fetch) in running where fetch.range.upperBound > length {
        running[id]?.range = Swift.min(fetch.range.lowerBound, length)..<length
      }
    }

    // MARK: Pausing and ending

    /// Resumes a fetch if it is paused.
    mutating func resume(_ id: FetchID) -> [Action] {
      running[id]?.paused.take().map { [.wake([$0], nil)] } ?? []
    }

    /// Ends a fetch for lack of readers. A reader that wants the rest of a range from now on requests
    /// it.
    mutating func callOff(_ id: FetchID) -> [Action] {
      guard let fetch = running[id] else { return [] }
      running[id]?.isCalledOff = true
      if !fetch.isWhole, !fetch.isConfirmation { running[id]?.endAtPosition() }
      return fetch.task.map { [.cancel($0)] } ?? []
    }

    func cancelAll() -> [Action] { running.values.compactMap(\.task).map { .cancel($0) } }
  }

  /// One request to the origin, or a row of them, that fills a hole. A pure value: `Fetch` beside the
  /// state carries it out.
  struct RunningFetch: Sendable {
    /// What it is for. A confirmation becomes an ordinary fetch if the response brings bytes of the
    /// generation.
    enum Purpose: Sendable, Equatable {
      case bytes
      /// It revalidates the generation, and may request missing bytes with that
      /// (`FetchRequest.fills`).
      case confirmation(fills: Bool)
    }

    enum Phase: Sendable, Equatable {
      /// A request is about to be sent, or waits for its response.
      case asking
      /// It waits before its first request or a further one, without one running.
      case resting
      /// The body of a response to a range is arriving.
      case part
      /// The head of a whole response has been received, and its body is arriving unless it is
      /// paused.
      case whole(isPaused: Bool)
      /// Its end is being reported: it sends no further request.
      case ended
    }

    var range: ByteRange
    var position: Int64
    var purpose: Purpose
    private(set) var phase = Phase.asking
    /// Whether its response is the whole resource.
    var isWhole: Bool
    var isBackground: Bool
    /// The end of the range that its response announced; nil before the first one.
    var announcedEnd: Int64?
    /// Whether it was ended for lack of readers, so that a missing response says nothing about the
    /// origin.
    var isCalledOff = false
    /// The number of new bytes that it brought.
    var brought: Int64 = 0
    /// The end of all that it brought so far: a whole response starts at the first byte again.
    var furthest: Int64 = 0
    /// The number of bytes stored since readers were last woken.
    var unannounced: Int64 = 0
    /// The span that it extends, as recorded in the journal.
    var journalRun: JournalRun?
    var task: Task<Void, Never>?
    /// Resumes it, while it is paused.
    var paused: Wake?
    /// Repeats the request, while it waits for a network that a prefetch may use.
    var beginAnew: (@Sendable () -> Void)?

    init(
      range: ByteRange, position: Int64? = nil, purpose: Purpose = .bytes, isWhole: Bool = false,
      isBackground: Bool = false
    ) {
      (self.range, self.purpose, self.isWhole) = (range, purpose, isWhole)
      self.isBackground = isBackground
      self.position = position ?? range.lowerBound
    }

    /// The range that it has yet to bring.
    var ahead: ByteRange { min(position, range.upperBound)..<range.upperBound }

    var isConfirmation: Bool { purpose != .bytes }

    /// Whether it brings the bytes of its range, unless the stored generation is outdated.
    var bringsBytes: Bool { purpose != .confirmation(fills: false) }

    var isResting: Bool { phase == .resting }

    /// Whether the body of a response is arriving.
    var hasBody: Bool { phase == .part || phase == .whole(isPaused: false) }

    /// Whether the head of a whole response has been received.
    var isReceivingWhole: Bool {
      if case .whole = phase { true } else { false }
    }

    mutating func beginRest() { phase = .resting }

    mutating func endRest() { if isResting { phase = .asking } }

    /// A whole response runs from the first byte to the end, whatever range was requested.
    mutating func beginWhole(to end: Int64) {
      phase = .whole(isPaused: !hasBody)
      (isWhole, range, position) = (true, 0..<end, 0)
    }

    mutating func beginBody() { phase = isReceivingWhole ? .whole(isPaused: false) : .part }

    /// Ends the body, or pauses it.
    mutating func endBody() {
      if hasBody { phase = isReceivingWhole ? .whole(isPaused: true) : .asking }
    }

    mutating func end() { phase = .ended }

    /// Records bytes that were stored.
    mutating func stored(_ range: ByteRange, isNew: Bool) {
      let count = range.upperBound - range.lowerBound
      if isNew { brought += count }
      unannounced += count
    }

    /// Readers need the first bytes soonest; later, fewer and longer pieces serve them as well.
    var mayDeferWakes: Bool { brought >= 1 << 20 && unannounced < 256 << 10 }

    /// Has it bring no more than it has.
    mutating func endAtPosition() {
      range = range.lowerBound..<max(range.lowerBound, position)
    }
  }

  /// A growing span, and its two records in a journal.
  struct JournalRun: Sendable {
    var journal: JournalFile
    /// The number of the first record.
    var first: Int
    /// The record that is written next, 0 or 1.
    var turn = 0
    var span: ByteRange
  }
}

/// The position at which responses that can only be read from their start ended too early, so often
/// that it was an error.
struct LastCut: Sendable, Hashable {
  var position: Int64
  /// The number of cuts in a row.
  var count: Int

  /// Returns how often a response was cut there, for a fetch that begins at `offset`: a reader that
  /// asks again does not cause the full number of attempts again.
  func count(at offset: Int64) -> Int {
    offset > position && Self.isProgress(offset - position, at: offset) ? 0 : count
  }

  /// Whether the gain is progress: a twentieth of the bytes to be read again is; a few bytes are
  /// not.
  static func isProgress(_ gained: Int64, at position: Int64) -> Bool { gained * 20 >= position }
}
