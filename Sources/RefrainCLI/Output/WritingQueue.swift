// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import RefrainLocks
import RefrainProxy

/// Writes a line for each request that the proxy responded to.
typealias RequestLog = WritingQueue<ServedRequest>

/// Writes lines on a thread of its own: a stopped terminal or an unread pipe must not block a
/// player.
///
/// Lines are formatted and written in blocks: one by one they would cost a busy proxy more than its
/// responses. Those beyond a bound are dropped, and counted.
final class WritingQueue<Element: Sendable>: Sendable {
  private struct State {
    var waiting: [Element] = []
    var leftOut = 0
    var isScheduled = false
    var isBroken = false
  }

  private let bound: Int
  private let delay: Duration
  private let write: @Sendable (_ elements: [Element], _ leftOut: Int) throws -> Void
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "refrain.writing")

  /// - Parameters:
  ///   - bound: the number of elements that may wait to be written.
  ///   - delay: how late they are written at most, so that there are few blocks.
  ///   - write: writes elements, and how many were dropped before them. May block. If it throws,
  ///     there is no reader any more: nothing further is written, and the command continues.
  init(
    bound: Int = 10_000, delay: Duration = .milliseconds(100),
    write: @escaping @Sendable (_ elements: [Element], _ leftOut: Int) throws -> Void
  ) {
    (self.bound, self.delay, self.write) = (bound, delay, write)
  }

  /// Records an element. Returns at once; may be called on any thread.
  func note(_ element: Element) { note(element, isMinor: false) }

  /// As `note(_:)`.
  ///
  /// - Parameter isMinor: whether it is dropped once half of those that may wait do.
  func note(_ element: Element, isMinor: Bool) {
    let isFirst = state.withLock { state in
      guard !state.isBroken else { return false }
      guard state.waiting.count < (isMinor ? bound / 2 : bound) else {
        state.leftOut += 1
        return false
      }
      state.waiting.append(element)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { queue.asyncAfter(deadline: .now() + delay / .seconds(1)) { self.put() } }
  }

  /// Waits until recorded elements are written, for at most `patience` if the reader stalls.
  ///
  /// - Parameter onlyOnceCancelled: whether to wait without limit before the task is cancelled.
  func end(patience: Duration = .seconds(2), onlyOnceCancelled: Bool = false) async {
    let gate = Gate()
    queue.async {
      self.put()
      gate.open()
    }
    let giveUp: @Sendable () -> Void = {
      DispatchQueue.global().asyncAfter(deadline: .now() + patience / .seconds(1)) { gate.open() }
    }
    guard onlyOnceCancelled else {
      giveUp()
      return await gate.wait()
    }
    await withTaskCancellationHandler {
      await gate.wait()
    } onCancel: {
      giveUp()
    }
  }

  private func put() {
    let (elements, leftOut) = state.withLock { state in
      defer { (state.waiting, state.leftOut, state.isScheduled) = ([], 0, false) }
      return state.isBroken ? ([], 0) : (state.waiting, state.leftOut)
    }
    guard !elements.isEmpty || leftOut > 0 else { return }
    do {
      try write(elements, leftOut)
    } catch {
      state.withLock { $0.isBroken = true }
    }
  }
}

/// Lets one waiter through once it is open.
private final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  func open() {
    let waiter = state.withLock { state in
      state.isOpen = true
      return state.waiter.take()
    }
    waiter?.resume()
  }

  /// Returns once it is open, also in a cancelled task.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiter = continuation }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}
