// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Seeks and positions of the current item. A pure value.
  struct MPVClock {
    struct Seek: Equatable {
      var position: Duration
      var serial: Int

      /// The serial of a seek that no listener requested.
      static let own = 0
    }

    /// The seek that libmpv performs. One at a time: libmpv does not report which of several is
    /// over.
    private var seek: (seek: Seek, hasBegun: Bool)?
    /// The latest seek requested meanwhile, or before the item was heard.
    private var waiting: Seek?
    private var isHeard = false
    /// The position at which the item was loaded to begin.
    private let start: Duration
    /// The place at which the item begins, if that is past the end that the file states: it may end
    /// without a sound. Some formats only allow an estimate, which may be far too short.
    private(set) var placePastEnd: Duration?
    /// The time of the last change of the position.
    private var lastAdvance = ContinuousClock.now
    private var lastPosition: ContinuousClock.Instant?
    private var lastBuffer: ContinuousClock.Instant?

    init(start: Duration = .zero) { self.start = start }

    // MARK: Seeks

    /// Whether libmpv performs a seek.
    var isSeeking: Bool { seek != nil }

    enum Wish: Equatable {
      case seek(Seek)
      case nothing
    }

    /// The position sought before the item was heard; nil if there was no such seek.
    var beginning: Duration? { isHeard ? nil : waiting?.position }

    /// Records that the item was opened, and begins next.
    mutating func open(lasting duration: Duration) {
      let place = beginning ?? start
      placePastEnd = place > .zero && place >= duration ? place : nil
    }

    /// Records a position before the item was heard. Returns whether it is the first one of an item
    /// that seemed to begin past its end: the stated end was wrong.
    mutating func moves(to position: Duration) -> Bool {
      // mpv rounds the place at which it was told to begin.
      guard !isHeard, let place = placePastEnd, position > place + .milliseconds(1) else {
        return false
      }
      placePastEnd = nil
      return true
    }

    /// Returns what libmpv has to do for a seek.
    mutating func ask(_ seek: Seek) -> Wish {
      guard isHeard else {
        waiting = seek
        return .nothing
      }
      guard self.seek == nil else {
        waiting = seek
        return .nothing
      }
      self.seek = (seek, false)
      return .seek(seek)
    }

    /// Records that libmpv has begun to seek. Returns whether a listener requested it.
    mutating func begin() -> Bool {
      guard seek != nil else { return false }
      seek?.hasBegun = true
      return true
    }

    /// Drops all seeks: libmpv cannot seek in this item. Returns the number of the last one.
    mutating func abandon() -> Int? {
      defer { (seek, waiting) = (nil, nil) }
      return waiting?.serial ?? seek?.seek.serial
    }

    /// Drops all seeks if libmpv has not begun the one that it was given. Returns the number of the
    /// last one; nil: nothing was dropped.
    mutating func abandonUnbegun() -> Int? { seek?.hasBegun == false ? abandon() : nil }

    enum Arrival: Equatable {
      /// No seek is completed.
      case none
      /// The last requested seek is completed.
      case seekCompleted(serial: Int)
      /// Another seek has to follow.
      case further(Seek)
    }

    /// Records that sound began at a position.
    mutating func arrive(at position: Duration) -> Arrival {
      isHeard = true
      if let seek {
        // Sound from before the seek.
        guard seek.hasBegun else { return .none }
        self.seek = nil
        guard let waiting else { return .seekCompleted(serial: seek.seek.serial) }
        self.waiting = nil
        return go(to: waiting)
      }
      guard let waiting else { return .none }
      self.waiting = nil
      // The item may have begun there already.
      let distance = (position - waiting.position).inSeconds
      if abs(distance) < 0.02 { return .seekCompleted(serial: waiting.serial) }
      return go(to: waiting)
    }

    private mutating func go(to seek: Seek) -> Arrival {
      self.seek = (seek, false)
      return .further(seek)
    }

    // MARK: Positions

    /// Records that the position has changed.
    mutating func advance(_ now: ContinuousClock.Instant) { lastAdvance = now }

    /// Returns whether the position has not changed for longer than an output needs for its next
    /// buffer.
    func isStill(_ now: ContinuousClock.Instant) -> Bool {
      now - lastAdvance >= .milliseconds(400)
    }

    /// Returns whether a position is due to be reported: ten times a second at most.
    mutating func isDue(_ now: ContinuousClock.Instant) -> Bool {
      if let lastPosition, now - lastPosition < .milliseconds(100) { return false }
      lastPosition = now
      return true
    }

    mutating func isBufferDue(_ now: ContinuousClock.Instant) -> Bool {
      if let lastBuffer, now - lastBuffer < .milliseconds(250) { return false }
      lastBuffer = now
      return true
    }
  }
#endif
