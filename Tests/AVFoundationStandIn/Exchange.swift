// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  package import Foundation
  import RefrainLocks

  /// How a request ended.
  package enum PlayerOutcome: Sendable {
    /// - Parameter redirect: the URL to which the delegate redirected AVFoundation.
    case finished(redirect: URL?)
    case failed(any Error)
    case cancelled
    /// The delegate refused the request.
    case refused
    /// AVFoundation loads such URLs itself.
    case notMediated

    package var isFinished: Bool {
      if case .finished = self { true } else { false }
    }

    package var error: (any Error)? {
      if case .failed(let error) = self { error } else { nil }
    }
  }

  /// The state that the delegate's and the player's views of one request share.
  final class Exchange: Sendable {
    private struct Waiter {
      let until: Int64
      let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
      var currentOffset: Int64
      var information = StandInInformation()
      var redirect: URL?
      var id: UInt64?
      var outcome: PlayerOutcome?
      var waiters: [Waiter] = []
    }

    let url: URL
    let wish: Wish
    let log: AssetLog
    private let sink: @Sendable (Int64, Data) -> Void
    private let state: Mutex<State>

    init(url: URL, wish: Wish, log: AssetLog, sink: @Sendable @escaping (Int64, Data) -> Void) {
      self.url = url
      self.wish = wish
      self.log = log
      self.sink = sink
      state = Mutex(State(currentOffset: wish.offset))
    }

    var currentOffset: Int64 { state.withLock { $0.currentOffset } }
    var information: StandInInformation { state.withLock { $0.information } }
    var outcome: PlayerOutcome? { state.withLock { $0.outcome } }
    var isCancelled: Bool {
      if case .cancelled? = outcome { true } else { false }
    }

    // MARK: The delegate's side

    func fill(_ change: (inout StandInInformation) -> Void) {
      if outcome != nil { log.violation("\(wish): information after its end") }
      log.note(
        state.withLock { state in
          change(&state.information)
          return state.information
        })
    }

    func note(redirect: URL?) { state.withLock { $0.redirect = redirect } }

    func respond(_ data: Data) {
      guard outcome == nil else { return log.violation("\(wish): data after its end") }
      guard let information = log.information else {
        return log.violation("\(wish): data before the content information")
      }
      let offset = currentOffset
      let end = wish.end ?? (information.contentLength > 0 ? information.contentLength : .max)
      if offset + Int64(data.count) > end {
        return log.violation("\(wish): \(data.count) bytes at \(offset), more than asked")
      }
      // On the delegate's thread, as the data is received; before it is reported.
      sink(offset, data)
      log.count(data.count)
      let reached = state.withLock { state in
        state.currentOffset += Int64(data.count)
        let reached = state.waiters.filter { $0.until <= state.currentOffset }
        state.waiters.removeAll { $0.until <= state.currentOffset }
        return reached
      }
      for waiter in reached { waiter.continuation.resume() }
    }

    func finish(_ error: (any Error)?) {
      if let outcome {
        return log.violation("\(wish): finished after it was over (\(outcome))")
      }
      if let error {
        end(.failed(error))
        return
      }
      let redirect = state.withLock { $0.redirect }
      if redirect == nil { checkFinished() }
      end(.finished(redirect: redirect))
    }

    private func checkFinished() {
      let (information, offset) = state.withLock { ($0.information, $0.currentOffset) }
      if wish.information {
        if !information.isByteRangeAccessSupported || information.contentLength < 0 {
          log.violation("\(wish): AVPlayer plays nothing from a delegate that has no length")
        }
        // Nil is allowed: AVFoundation then determines the type itself.
        if let type = information.contentType, let allowed = wish.allowedContentTypes,
          !allowed.contains(type)
        {
          log.violation("\(wish): NSInvalidArgumentException, \(type) is none of \(allowed)")
        }
      }
      guard wish.bytes != nil else { return }
      let length = log.information?.contentLength ?? 0
      let end = min(wish.end ?? .max, length > 0 ? length : .max)
      if end != .max, offset < max(end, wish.offset) {
        log.violation("\(wish): finished at \(offset), before \(end)")
      }
    }

    // MARK: The player's side

    func accepted() {
      let id = log.accept(wish)
      let isOver = state.withLock { state in
        state.id = id
        return state.outcome != nil
      }
      if isOver { log.end(id) }
    }

    /// - Returns: false if the request was over already.
    @discardableResult
    func end(_ outcome: PlayerOutcome) -> Bool {
      let (isFirst, id, waiters) = state.withLock { state -> (Bool, UInt64?, [Waiter]) in
        guard state.outcome == nil else { return (false, nil, []) }
        state.outcome = outcome
        defer { state.waiters = [] }
        return (true, state.id, state.waiters)
      }
      log.end(id)
      for waiter in waiters { waiter.continuation.resume() }
      return isFirst
    }

    /// Returns once the data has reached `offset`, or the request is over.
    func wait(until offset: Int64) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.outcome != nil || state.currentOffset >= offset { return true }
          state.waiters.append(Waiter(until: offset, continuation: continuation))
          return false
        }
        if isThere { continuation.resume() }
      }
    }
  }
#endif
