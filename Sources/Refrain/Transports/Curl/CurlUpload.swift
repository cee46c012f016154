// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// Passes the body of a request from the task that produces it to the thread of libcurl, part by
  /// part.
  final class CurlUpload: Sendable {
    let length: Int64?
    private let nextPart: @Sendable () async throws -> Data?
    private let state = Mutex(State())

    private struct State {
      var part = Data()
      var isWhole = false
      /// Whether libcurl waits for the next part.
      var isPaused = false
      var waiter: CheckedContinuation<Void, Never>?
      var task: Task<Void, Never>?
      var isStopped = false
    }

    init(_ body: RelayedRequest.Body) {
      length = body.length
      nextPart = body.next
    }

    // MARK: For the task

    /// - Parameters:
    ///   - goOn: called when data is available for libcurl, which had to wait.
    ///   - onFailure: called with the error of the body.
    func start(
      goOn: @escaping @Sendable () -> Void, onFailure: @escaping @Sendable (any Error) -> Void
    ) {
      state.withLock { state in
        guard !state.isStopped else { return }
        state.task = Task {
          do {
            while let part = try await nextPart() {
              guard !part.isEmpty else { continue }
              if hand(over: part) { goOn() }
              await drained()
              try Task.checkCancellation()
            }
            if hand(over: nil) { goOn() }
          } catch {
            onFailure(error)
          }
        }
      }
    }

    /// - Parameter part: nil: there are no more.
    /// - Returns: whether libcurl waits for it.
    private func hand(over part: Data?) -> Bool {
      state.withLock { state in
        if let part { state.part = part } else { state.isWhole = true }
        defer { state.isPaused = false }
        return state.isPaused
      }
    }

    /// Waits until libcurl has taken the whole part.
    private func drained() async {
      await withCheckedContinuation { continuation in
        let isDrained = state.withLock { state in
          if state.part.isEmpty || state.isStopped { return true }
          state.waiter = continuation
          return false
        }
        if isDrained { continuation.resume() }
      }
    }

    /// Stops the upload.
    func stop() {
      let (task, waiter) = state.withLock { state in
        state.isStopped = true
        return (state.task.take(), state.waiter.take())
      }
      task?.cancel()
      waiter?.resume()
    }

    // MARK: For the thread of libcurl

    /// Copies the available bytes.
    ///
    /// - Returns: their number; 0 at the end of the body; nil if libcurl has to wait.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
      let (count, waiter) = state.withLock { state -> (Int?, CheckedContinuation<Void, Never>?) in
        guard !state.part.isEmpty else {
          if state.isWhole { return (0, nil) }
          state.isPaused = true
          return (nil, nil)
        }
        let count = state.part.copyBytes(to: buffer)
        state.part = state.part.dropFirst(count)
        return (count, state.part.isEmpty ? state.waiter.take() : nil)
      }
      waiter?.resume()
      return count
    }
  }
#endif
