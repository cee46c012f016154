// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Seeks and positions of the current item. A pure value.
  struct MPVClock {
    /// A seek that waits for the media to be opened.
    var pendingSeek: (position: Duration, serial: Int)?
    private var isOpen = false
    /// The last seek that is under way.
    private var serial: Int?
    /// When the position was last another one.
    private var lastAdvance = ContinuousClock.now
    private var lastPosition: ContinuousClock.Instant?
    private var lastBuffer: ContinuousClock.Instant?

    /// Whether mpv would take a seek now; one that comes too early is kept, the last of them.
    mutating func canSeek(to position: Duration, _ serial: Int) -> Bool {
      guard isOpen else {
        pendingSeek = (position, serial)
        return false
      }
      self.serial = serial
      return true
    }

    /// The media is open. Returns the seek that has waited for that.
    mutating func open() -> (position: Duration, serial: Int)? {
      isOpen = true
      defer { pendingSeek = nil }
      return pendingSeek
    }

    /// Nothing is sought any more. Returns the number of the last seek.
    mutating func arrive() -> Int? {
      defer { serial = nil }
      return serial
    }

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
