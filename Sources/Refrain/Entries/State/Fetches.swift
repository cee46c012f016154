// SPDX-License-Identifier: MIT

extension GenerationState {
  /// One request to the origin, or a row of them, that fills a hole. `Fetch` carries it out.
  struct RunningFetch: Sendable {
    enum Purpose: Sendable, Equatable {
      case bytes
      /// It revalidates the generation, and may request missing bytes with that
      /// (`FetchRequest.fills`): it turns into `.bytes` once the response brings some.
      case confirmation(fills: Bool)
    }

    enum Phase: Sendable {
      /// A request is about to be sent, or waits for its response.
      case asking
      /// It waits without a request.
      case resting
      /// The body of a response to a range is arriving.
      case part
      /// The head of a whole response has been received.
      case whole
    }

    var range: ByteRange
    var position: Int64
    var purpose: Purpose
    var phase = Phase.asking
    var isWhole: Bool
    var isBackground: Bool
    /// The end of the range that its response announced.
    var announcedEnd: Int64?
    /// Whether it was ended for lack of readers, or its task was cancelled.
    var isCalledOff = false
    /// The number of new bytes.
    var brought: Int64 = 0
    /// The end of all that it brought: a whole response starts at the first byte again.
    private var furthest: Int64 = 0
    /// The number of bytes stored since readers were last woken.
    var unannounced: Int64 = 0
    var task: Task<Void, Never>?
    /// Resumes it; nil unless it is paused.
    var paused: Wake?

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

    var isReceiving: Bool { phase == .part || phase == .whole }

    mutating func endRest() { if isResting { phase = .asking } }

    /// A whole response runs from the first byte to the end, whatever range was requested.
    mutating func beginWhole(to end: Int64) {
      (phase, isWhole, range, position) = (.whole, true, 0..<end, 0)
    }

    mutating func bring(_ range: ByteRange) {
      brought += max(0, range.upperBound - max(range.lowerBound, furthest))
      furthest = max(furthest, range.upperBound)
      position = max(position, range.upperBound)
    }

    mutating func endAtPosition() {
      range = range.lowerBound..<max(range.lowerBound, position)
    }
  }

  struct Fetches: Sendable {
    private(set) var all: [FetchID: RunningFetch] = [:]
    private(set) var ranges = OriginRanges.announced
    /// As last reported (`PlaybackPriority`).
    var shortCount = 0
    /// The positions of those without readers, as last looked at; while there are any, they are
    /// checked from time to time.
    var watched: [FetchID: Int64] = [:]

    /// Nothing changes for one that has ended.
    subscript(id: FetchID) -> RunningFetch? {
      get { all[id] }
      set { if let newValue, all[id] != nil { all[id] = newValue } }
    }

    var values: Dictionary<FetchID, RunningFetch>.Values { all.values }
    var isEmpty: Bool { all.isEmpty }

    mutating func add(_ fetch: RunningFetch, as id: FetchID) { all[id] = fetch }

    @discardableResult
    mutating func remove(_ id: FetchID) -> RunningFetch? { all.removeValue(forKey: id) }

    mutating func move(_ id: FetchID, to position: Int64) {
      if let fetch = all[id] { all[id]?.position = max(fetch.position, position) }
    }

    mutating func end(at length: Int64) {
      for (id, fetch) in all where fetch.range.upperBound > length {
        all[id]?.range = min(fetch.range.lowerBound, length)..<length
      }
    }

    /// Begins a whole response up to `end`. False if another one has yet to pass `offset`: one is
    /// enough, and readers wait for that one.
    mutating func beginWhole(_ id: FetchID, to end: Int64, at offset: Int64) -> Bool {
      let other = all.first { other, fetch in
        other != id && fetch.phase == .whole && fetch.position <= offset
      }?.key
      guard let other else {
        all[id]?.beginWhole(to: end)
        return true
      }
      // Its range may have been truncated where this fetch was to begin.
      all[other]?.range = 0..<end
      note(.ignored)
      return false
    }

    mutating func note(_ found: OriginRanges) {
      if ranges == .refused || (ranges == .answered && found == .refused) { return }
      ranges = found
    }
  }
}

/// How the origin handles requests for ranges, by its responses so far.
enum OriginRanges: Sendable {
  /// Nothing is known but the announcement (`ContentInformation.supportsRanges`).
  case announced
  /// It has sent a range.
  case answered
  /// It sends the whole resource instead, whatever it announces: readers wait for that response.
  case ignored
  /// It has a usable response only to requests without a range: no further request names one.
  case refused
}

extension RangeSet<Int64> {
  /// Returns these bytes with those that fetches have yet to bring.
  func with(_ fetches: some Sequence<GenerationState.RunningFetch>) -> Self {
    var covered = self
    for fetch in fetches where !fetch.ahead.isEmpty { covered.insert(contentsOf: fetch.ahead) }
    return covered
  }
}
