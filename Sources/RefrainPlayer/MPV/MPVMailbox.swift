// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Synchronization

  /// What the engine asks of libmpv's thread.
  enum MPVRequest: Sendable {
    case load(MPVPlayback, start: Duration, paused: Bool)
    case pause(Bool)
    case seek(Duration)
    case volume(Double)
    case stop
    case quit
  }

  /// Carries requests to libmpv's thread, and wakes it.
  final class MPVMailbox: Sendable {
    /// Unchecked: only `mpv_wakeup` is called with it outside of libmpv's thread, which is allowed
    /// from any thread, and only under the lock that also takes it away before it becomes invalid.
    private struct Handle: @unchecked Sendable {
      let pointer: OpaquePointer
    }

    private struct State {
      var requests: [MPVRequest] = []
      var handle: Handle?
      var isClosed = false
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(waking pointer: OpaquePointer) {
      state = Mutex(State(handle: Handle(pointer: pointer)))
    }

    /// Hands a request over. On a closed engine a resource stops right away, and the rest is moot.
    func post(_ request: MPVRequest) {
      let isTaken = state.withLock { state in
        guard let handle = state.handle else { return false }
        state.requests.append(request)
        mpv_wakeup(handle.pointer)
        return true
      }
      if !isTaken, case .load(let playback, _, _) = request { playback.report(.stopped) }
    }

    /// The requests that have come, oldest first.
    func take() -> [MPVRequest] {
      state.withLock { state in
        defer { state.requests = [] }
        return state.requests
      }
    }

    /// Asks libmpv to quit, and waits until it is gone.
    func close() async {
      post(.quit)
      await withCheckedContinuation { continuation in
        let isClosed = state.withLock { state in
          if !state.isClosed { state.waiting.append(continuation) }
          return state.isClosed
        }
        if isClosed { continuation.resume() }
      }
    }

    /// libmpv is about to go: nobody may wake it any more. Returns what nobody will do now.
    func shut() -> [MPVRequest] {
      state.withLock { state in
        defer { state.requests = [] }
        state.handle = nil
        return state.requests
      }
    }

    /// libmpv is gone.
    func closed() {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        state.isClosed = true
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }
#endif
