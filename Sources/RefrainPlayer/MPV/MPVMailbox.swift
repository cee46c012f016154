// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import RefrainLocks

  /// A request of the engine to libmpv's thread.
  enum MPVRequest: Sendable {
    case load(MPVPlayback, start: Duration, isPaused: Bool)
    case follow(MPVPlayback?)
    case pause(Bool)
    case seek(EngineItem.ID, Duration, serial: Int)
    case rate(Double)
    case volume(Double, isMuted: Bool)
    case select(MediaTrack.ID?, MediaTrack.Kind)
    case showVideo(Bool)
    /// A command in mpv's words (mpv(1), "List of Input Commands").
    case command([String])
    case languages(TrackLanguages)
    case replayGain(ReplayGain)
    case device(String?)
    case stop
    /// The reason for waiting may have changed.
    case syncState
    /// mpv may continue after a hook.
    case goOn(UInt64)
    case quit
  }

  /// A message of libmpv's thread to the engine.
  enum MPVMessage: Sendable {
    case event(EngineEvent)
    /// mpv waits after the end of an item for `goOn`: an output file, written as fast as it can be
    /// decoded, may reach the end before the engine has set what follows.
    case held(UInt64)
  }

  /// Carries requests to libmpv's thread, and wakes it.
  final class MPVMailbox: Sendable {
    /// Unchecked: outside of libmpv's thread it is used only for `mpv_wakeup`, which is allowed on
    /// any thread, and only under the lock, under which it is also removed before it becomes
    /// invalid.
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

    /// Posts a request. Ignored once the engine is closed.
    func post(_ request: MPVRequest) {
      state.withLock { state in
        guard let handle = state.handle else { return }
        state.requests.append(request)
        handle.mpv.wakeup(handle.pointer)
      }
    }

    /// Removes and returns the posted requests, oldest first.
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

    /// Stops accepting requests.
    func shut() { state.withLock { $0.handle = nil } }

    /// Records that libmpv is gone, and resumes the callers of `close()`.
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
