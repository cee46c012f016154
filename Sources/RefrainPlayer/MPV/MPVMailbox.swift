// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Synchronization

  /// What the engine asks of libmpv's thread.
  enum MPVRequest: Sendable {
    case load(MPVPlayback, start: Duration, isPaused: Bool)
    case follow(MPVPlayback?)
    case pause(Bool)
    case seek(EngineItem.ID, Duration, serial: Int)
    case rate(Double)
    case volume(Double, isMuted: Bool)
    case stop
    /// What is waited for may have changed.
    case syncState
    /// mpv may go on from where it is held.
    case goOn(UInt64)
    case quit
  }

  /// What libmpv's thread tells the engine.
  enum MPVMessage: Sendable {
    case event(EngineEvent)
    /// mpv waits behind the end of an item until it is told to go on: what is written to a file, as
    /// fast as it can be decoded, may have come there before anybody could say what follows.
    case held(UInt64)
  }

  /// Carries requests to libmpv's thread, and wakes it.
  final class MPVMailbox: Sendable {
    /// Unchecked: only `mpv_wakeup` is called with it outside of libmpv's thread, which is allowed
    /// from any thread, and only under the lock that also takes it away before it becomes invalid.
    private struct Handle: @unchecked Sendable {
      let pointer: OpaquePointer
      let mpv: MPVFunctions
    }

    private struct State {
      var requests: [MPVRequest] = []
      var handle: Handle?
      var isClosed = false
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(waking pointer: OpaquePointer, of mpv: MPVFunctions) {
      state = Mutex(State(handle: Handle(pointer: pointer, mpv: mpv)))
    }

    /// Hands a request over. On a closed engine it is moot.
    func post(_ request: MPVRequest) {
      state.withLock { state in
        guard let handle = state.handle else { return }
        state.requests.append(request)
        handle.mpv.wakeup(handle.pointer)
      }
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

    /// Nothing is taken any more.
    func shut() { state.withLock { $0.handle = nil } }

    /// libmpv is gone.
    func closed() {
      let waiting = state.withLock { state in
        state.isClosed = true
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }
#endif
