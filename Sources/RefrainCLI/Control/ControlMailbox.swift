// SPDX-License-Identifier: MIT
#if os(Linux)
  import CLinuxSystem
  import Glibc
  import RefrainLocks

  /// Carries what the clients of a control socket see from the main actor to the socket's thread,
  /// and wakes that thread.
  final class ControlMailbox: Sendable {
    /// An event for all clients.
    enum Event: Sendable {
      /// One of `--json`.
      case program(PlayEvent)
      /// One of mpv's.
      case file(ControlValue)

      /// Nil: it cannot be encoded.
      var line: String? {
        switch self {
        // All numbers of an event are finite, so it can be encoded.
        case .program(let event): try? JSONText.line(event)
        case .file(let value): value.json
        }
      }

      /// Whether a later event makes it superfluous.
      var isRepeated: Bool {
        switch self {
        case .program(let event): event.isRepeated
        case .file: false
        }
      }
    }

    /// What the thread has not handled yet.
    struct News: Sendable {
      var state: ControlState
      var events: [Event] = []
      var answers: [(client: Int, answer: ControlAnswer)] = []
      var isClosing = false
    }

    private struct Contents {
      var news = News(state: ControlState())
      /// Whether any client would see the news.
      var hasClients = false
      var hasStarted = false
      var hasEnded = false
      /// An eventfd(2); -1 once the thread has ended.
      var wake: CInt
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let contents: Mutex<Contents>

    /// The events that wait for the thread, which handles them at once: more are never needed.
    private static let eventLimit = 1000

    /// - Returns: nil if the process has no descriptor left.
    init?() {
      let wake = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
      guard wake >= 0 else { return nil }
      contents = Mutex(Contents(wake: wake))
    }

    deinit {
      contents.withLock { contents in
        if contents.wake >= 0 { Glibc.close(contents.wake) }
      }
    }

    // MARK: For the main actor

    /// Sets the state that clients see from now on.
    func publish(_ state: ControlState) {
      contents.withLock { contents in
        contents.news.state = state
        if contents.hasClients { Self.wake(contents) }
      }
    }

    func send(_ event: Event) {
      contents.withLock { contents in
        guard contents.hasClients else { return }
        if contents.news.events.count == Self.eventLimit { contents.news.events.removeFirst() }
        contents.news.events.append(event)
        Self.wake(contents)
      }
    }

    /// Answers the command of a client. The state of `publish` is seen by its next one.
    func answer(_ client: Int, _ answer: ControlAnswer) {
      contents.withLock { contents in
        contents.news.answers.append((client, answer))
        Self.wake(contents)
      }
    }

    /// Returns whether the thread has still to be started, which counts as done.
    func begin() -> Bool {
      contents.withLock { contents in
        defer { contents.hasStarted = true }
        return !contents.hasStarted
      }
    }

    /// Asks the thread to end.
    func close() {
      contents.withLock { contents in
        contents.news.isClosing = true
        Self.wake(contents)
      }
    }

    /// Waits until the thread has ended, if it was started.
    func ended() async {
      await withCheckedContinuation { continuation in
        let isOver = contents.withLock { contents in
          let isOver = contents.hasEnded || !contents.hasStarted
          if !isOver { contents.waiting.append(continuation) }
          return isOver
        }
        if isOver { continuation.resume() }
      }
    }

    private static func wake(_ contents: Contents) {
      var one: UInt64 = 1
      // A counter that is full wakes the thread too.
      if contents.wake >= 0 { _ = write(contents.wake, &one, 8) }
    }

    // MARK: For the thread

    /// The descriptor to wait for.
    var descriptor: CInt { contents.withLock(\.wake) }

    /// Returns the news, and removes all but the state.
    ///
    /// - Parameter hasClients: whether there is anybody to see later ones.
    func take(hasClients: Bool) -> News {
      contents.withLock { contents in
        var count: UInt64 = 0
        _ = read(contents.wake, &count, 8)
        contents.hasClients = hasClients
        defer {
          contents.news.events = []
          contents.news.answers = []
        }
        return contents.news
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
