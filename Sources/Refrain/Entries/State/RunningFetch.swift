// SPDX-License-Identifier: MIT

extension GenerationState {
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
    var purpose = Purpose.bytes
    private(set) var phase = Phase.asking
    /// Whether its response is the whole resource.
    var isWhole = false
    var isBackground = false
    /// The end of the range that its response announced; nil before the first one.
    var announcedEnd: Int64?
    /// Whether it was ended for lack of readers, so that a missing response says nothing about the
    /// origin.
    var isCalledOff = false
    /// The number of new bytes that it brought.
    var brought: Int64 = 0
    /// The end of all that it brought so far: a whole response starts at the first byte again.
    var furthest: Int64 = 0
    /// Whether it counts among the fetches that a player is short of (`PlaybackPriority`).
    var isCounted = false
    var task: Task<Void, Never>?
    /// Resumes it, while it is paused.
    var paused: Wake?
    /// The span that it extends, as recorded in the journal.
    var journalRun: JournalRun?
    /// Repeats the request, while it waits for a network that a prefetch may use.
    var beginAnew: (@Sendable () -> Void)?
    /// The number of bytes stored since readers were last woken.
    var unannounced: Int64 = 0

    init(
      range: ByteRange, purpose: Purpose = .bytes, isWhole: Bool = false, isBackground: Bool = false
    ) {
      (self.range, self.purpose, self.isWhole) = (range, purpose, isWhole)
      self.isBackground = isBackground
      position = range.lowerBound
    }

    /// The range that it has yet to bring.
    var ahead: ByteRange { min(position, range.upperBound)..<range.upperBound }

    var isConfirmation: Bool { purpose != .bytes }

    /// Whether it brings the bytes of its range, unless the stored generation is outdated.
    var bringsBytes: Bool { purpose != .confirmation(fills: false) }

    var isResting: Bool { phase == .resting }

    /// Whether the head of a whole response has been received.
    var isReceivingWhole: Bool {
      phase == .whole(isPaused: true) || phase == .whole(isPaused: false)
    }

    /// Whether the body of a response is arriving.
    var hasBody: Bool { phase == .part || phase == .whole(isPaused: false) }

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
      if isReceivingWhole {
        phase = .whole(isPaused: true)
      } else if phase == .part {
        phase = .asking
      }
    }

    mutating func end() { phase = .ended }
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
