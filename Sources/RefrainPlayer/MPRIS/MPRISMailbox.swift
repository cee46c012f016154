// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Glibc
  import RefrainLocks

  /// Carries the state that clients see from the main actor to the bus's thread, and wakes that
  /// thread.
  final class MPRISMailbox: Sendable {
    private struct Contents {
      var state: MPRISState
      /// The position of a jump of the current item that is not announced yet.
      var jump: Int64?
      var isClosing = false
      var hasEnded = false
      /// An eventfd(2); -1 once the thread has ended.
      var wake: CInt
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let contents: Mutex<Contents>

    /// - Returns: nil if the process has no descriptor left.
    init?(_ state: MPRISState) {
      let wake = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
      guard wake >= 0 else { return nil }
      contents = Mutex(Contents(state: state, wake: wake))
    }

    deinit {
      contents.withLock { contents in
        if contents.wake >= 0 { Glibc.close(contents.wake) }
      }
    }

    // MARK: For the main actor

    /// Sets the state that clients read from now on. Wakes the bus's thread if more than the
    /// position may have changed.
    ///
    /// - Parameters:
    ///   - jump: a position that clients do not expect.
    ///   - wakes: whether more than the position may have changed.
    func publish(_ state: MPRISState, jump: Int64? = nil, wakes: Bool = true) {
      contents.withLock { contents in
        // Clients expect another item, or one that was stopped, to begin at its start.
        if state.player.item?.id != contents.state.player.item?.id || state.playback == .stopped {
          contents.jump = nil
        }
        contents.state = state
        if let jump { contents.jump = jump }
        if wakes || jump != nil { Self.wake(contents) }
      }
    }

    /// Asks the thread to end.
    func close() {
      contents.withLock { contents in
        contents.isClosing = true
        Self.wake(contents)
      }
    }

    /// Waits until the thread has ended.
    func ended() async {
      await withCheckedContinuation { continuation in
        let hasEnded = contents.withLock { contents in
          if !contents.hasEnded { contents.waiting.append(continuation) }
          return contents.hasEnded
        }
        if hasEnded { continuation.resume() }
      }
    }

    private static func wake(_ contents: Contents) {
      var one: UInt64 = 1
      // A counter that is full wakes the thread too.
      if contents.wake >= 0 { _ = write(contents.wake, &one, 8) }
    }

    // MARK: For the bus's thread

    var state: MPRISState { contents.withLock(\.state) }

    var isClosing: Bool { contents.withLock(\.isClosing) }

    /// The descriptor to wait for.
    var descriptor: CInt { contents.withLock(\.wake) }

    /// Returns the state and the jump to announce, and removes the jump. Clears the wake-up, except
    /// that of `close`: the thread may have asked `isClosing` before.
    func take() -> (state: MPRISState, jump: Int64?) {
      contents.withLock { contents in
        var count: UInt64 = 0
        if !contents.isClosing { _ = read(contents.wake, &count, 8) }
        defer { contents.jump = nil }
        return (contents.state, contents.jump)
      }
    }

    /// Records that the thread has ended.
    func end() {
      let waiting = contents.withLock { contents in
        Glibc.close(contents.wake)
        (contents.wake, contents.hasEnded) = (-1, true)
        defer { contents.waiting = [] }
        return contents.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }
#endif
