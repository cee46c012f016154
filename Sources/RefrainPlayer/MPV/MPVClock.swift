// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Seeks and positions of the current item. A pure value.
  struct MPVClock {
    struct Seek: Equatable {
      var position: Duration
      var serial: Int
    }

    /// The seek that libmpv is at. One at a time: of several, libmpv does not say which one is over.
    private var seek: (seek: Seek, hasBegun: Bool)?
    /// The last one that was asked for meanwhile, or before the item could be heard.
    private var waiting: Seek?
    private var isHeard = false
    /// Where the item was loaded to begin.
    private let start: Duration
    /// It begins where it has ended already: it ends without a sound.
    private(set) var isPastEnd = false
    /// When the position was last another one.
    private var lastAdvance = ContinuousClock.now
    private var lastPosition: ContinuousClock.Instant?
    private var lastBuffer: ContinuousClock.Instant?

    init(start: Duration = .zero) { self.start = start }

    // MARK: Seeks

    enum Wish: Equatable {
      case seek(Seek)
      case nothing
    }

    /// Where an item that was not heard yet is to begin; nil where nobody has sought in it.
    var beginning: Duration? { isHeard ? nil : waiting?.position }

    /// The item was opened, and begins next.
    mutating func open(lasting duration: Duration) {
      let place = beginning ?? start
      isPastEnd = place > .zero && place >= duration
    }

    /// What to have libmpv do about a seek.
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

    /// libmpv has begun to seek. Returns whether a listener asked for it.
    mutating func begin() -> Bool {
      guard seek != nil else { return false }
      seek?.hasBegun = true
      return true
    }

    /// libmpv does not seek in this. Returns the number of the last seek.
    mutating func abandon() -> Int? {
      defer { (seek, waiting) = (nil, nil) }
      return waiting?.serial ?? seek?.seek.serial
    }

    enum Arrival: Equatable {
      /// Sound comes, and nothing was sought.
      case none
      /// It came to the last place that was asked for.
      case seekCompleted(serial: Int)
      /// It has to go on to another place first.
      case further(Seek)
    }

    /// Sound comes, at a position.
    mutating func arrive(at position: Duration) -> Arrival {
      isHeard = true
      if let seek {
        // Of what was before it.
        guard seek.hasBegun else { return .none }
        self.seek = nil
        guard let waiting else { return .seekCompleted(serial: seek.seek.serial) }
        self.waiting = nil
        return go(to: waiting)
      }
      guard let waiting else { return .none }
      self.waiting = nil
      // It may have begun there.
      let distance = (position - waiting.position).inSeconds
      if abs(distance) < 0.02 { return .seekCompleted(serial: waiting.serial) }
      return go(to: waiting)
    }

    private mutating func go(to seek: Seek) -> Arrival {
      self.seek = (seek, false)
      return .further(seek)
    }

    // MARK: Positions

    /// The position is another one.
    mutating func advance(_ now: ContinuousClock.Instant) { lastAdvance = now }

    /// Whether the position has stood still for longer than an output needs for its next piece.
    func isStill(_ now: ContinuousClock.Instant) -> Bool {
      now - lastAdvance >= .milliseconds(400)
    }

    /// Ten times a second is enough.
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
