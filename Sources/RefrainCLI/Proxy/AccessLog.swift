// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainLocks
import RefrainProxy

/// Writes a line for each request to a file, on a thread of its own: neither a slow nor a full disk
/// delays a client. Requests beyond a bound are dropped, and counted.
final class AccessLog: Sendable {
  private struct State {
    var waiting: [(request: ServedRequest, date: Date)] = []
    /// The memory that they take, about.
    var size = 0
    var dropped = 0
    var reopens = false
    var isOver = false
    var atEnd: CheckedContinuation<Void, Never>?
  }

  private let format: AccessLogLine.Format
  private let hasOrigin: Bool
  private let bound: Int
  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)

  /// Begins to write.
  ///
  /// - Parameters:
  ///   - file: where; it is closed at the end.
  ///   - format: the form of its lines.
  ///   - hasOrigin: whether URLs are written as paths.
  ///   - bound: the bytes of memory that waiting requests may take.
  init(
    _ file: AccessLogFile, format: AccessLogLine.Format, hasOrigin: Bool, bound: Int = 8 << 20
  ) {
    (self.format, self.hasOrigin, self.bound) = (format, hasOrigin, bound)
    let thread = Thread { [self] in write(to: file) }
    thread.name = "refrain.access-log"
    thread.start()
  }

  /// Records a request that has ended. Returns at once; may be called on any thread.
  func note(_ request: ServedRequest) {
    let date = Date()
    let size =
      256 + request.url.utf8.count + (request.referrer?.utf8.count ?? 0)
      + (request.userAgent?.utf8.count ?? 0) + (request.error?.utf8.count ?? 0)
    let isFirst = state.withLock { state in
      guard !state.isOver else { return false }
      guard state.size + size <= bound else {
        state.dropped += 1
        return false
      }
      state.size += size
      state.waiting.append((request, date))
      return state.waiting.count == 1
    }
    if isFirst { work.signal() }
  }

  /// Opens the file again, after the requests recorded so far. Returns at once.
  func reopen() {
    state.withLock { $0.reopens = true }
    work.signal()
  }

  /// Waits until recorded requests are written, for at most `patience` if the disk stalls.
  func end(patience: Duration = .seconds(2)) async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        state.isOver = true
        state.atEnd = continuation
      }
      work.signal()
      DispatchQueue.global().asyncAfter(deadline: .now() + patience / .seconds(1)) { [self] in
        ended()
      }
    }
  }

  private func ended() { state.withLock { $0.atEnd.take() }?.resume() }

  private func write(to file: AccessLogFile) {
    var file = file
    while true {
      work.wait()
      let taken = state.withLock { state in
        defer {
          (state.waiting, state.size, state.dropped, state.reopens) = ([], 0, 0, false)
        }
        return state
      }
      if !taken.waiting.isEmpty || taken.dropped > 0 {
        let lines = taken.waiting.map {
          AccessLogLine(request: $0.request, date: $0.date, hasOrigin: hasOrigin).text(format)
        }
        file.write(lines.joined(), lostBefore: taken.dropped)
      }
      if taken.reopens { file.reopen() }
      guard !taken.isOver else { break }
    }
    file.close()
    ended()
  }
}
