// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import RefrainLocks

/// The number of connections, and its limit.
final class ConnectionCount: Sendable {
  private let count = Atomic(0)
  /// The connections beyond the limit, until they are closed.
  private let surplus = Mutex<Set<ObjectIdentifier>>([])
  private let exhausted = Atomic(false)
  private let waiting = Mutex<Waiting?>(nil)
  /// Called each time, because the limit of descriptors can be changed from outside (prlimit(1)).
  private let limit: @Sendable () -> Int
  /// The connections accepted beyond the limit, to be refused, and up to three more: SwiftNIO
  /// accepts four at a time. The rest wait to be accepted: each accepted one has a descriptor.
  static let mostSurplus = 8

  /// A closure stored directly in a lock gains a layer each time it is taken out.
  private struct Waiting: Sendable {
    var action: @Sendable () -> Void
  }

  init(limit: @Sendable @escaping () -> Int) { self.limit = limit }

  var current: Int { count.load(ordering: .relaxed) }

  /// Whether no descriptor is left.
  var isExhausted: Bool {
    get { exhausted.load(ordering: .relaxed) }
    set { exhausted.store(newValue, ordering: .relaxed) }
  }

  /// Counts a connection until it is closed.
  ///
  /// Called on the event loop that accepts, as soon as the connection has its descriptor. Its own
  /// event loop may be busy for long, while this one accepts further connections.
  func enter(_ channel: any Channel) {
    let id = ObjectIdentifier(channel)
    if count.add(1, ordering: .relaxed).newValue > limit() || isExhausted {
      surplus.withLock { _ = $0.insert(id) }
    }
    channel.closeFuture.whenComplete { [self] _ in
      surplus.withLock { _ = $0.remove(id) }
      count.subtract(1, ordering: .relaxed)
      wake()
    }
  }

  /// Whether a counted connection was beyond the limit when it was accepted: it is refused, and
  /// closed.
  func isSurplus(_ channel: any Channel) -> Bool {
    let id = ObjectIdentifier(channel)
    return surplus.withLock { $0.contains(id) }
  }

  /// Whether one more connection may be accepted, even if only to be refused.
  var mayAccept: Bool { current < limit() + Self.mostSurplus }

  /// Calls `action` once when one more may be accepted; on any thread, and at once if that is now.
  func whenThereIsRoom(_ action: @Sendable @escaping () -> Void) {
    waiting.withLock { $0 = Waiting(action: action) }
    wake()
  }

  func forgetWaiting() { waiting.withLock { $0 = nil } }

  private func wake() {
    guard mayAccept else { return }
    waiting.withLock { $0.take() }?.action()
  }
}

/// Accepts no more connections than the limit permits: further clients wait to be accepted.
///
/// If no descriptor is left for another connection, the listening socket would be reported ready
/// again and again. Therefore one of several spare descriptors is closed: one waiting client can be
/// accepted, and is refused as surplus.
final class AcceptGuard: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias InboundOut = any Channel
  typealias OutboundIn = Never

  private enum State {
    case ready
    /// A spare descriptor was closed: one connection may be accepted in its place.
    case taking
    /// No connection is accepted until that one has closed.
    case full
  }

  private let count: ConnectionCount
  private var state = State.ready
  /// Several, because other code may use a freed descriptor before a client does.
  private var spares: [CInt] = []
  private static let spareCount = 8
  private var isReadHeld = false
  private var isRemoved = false

  init(count: ConnectionCount) {
    self.count = count
    keepSpares()
  }

  private func keepSpares() {
    while spares.count < Self.spareCount {
      let spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard spare >= 0 else { return }
      spares.append(spare)
    }
  }

  private func giveUpSpare() -> Bool {
    guard let spare = spares.popLast() else { return false }
    _ = Foundation.close(spare)
    return true
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    isRemoved = true
    count.forgetWaiting()
    while giveUpSpare() {}
  }

  func read(context: ChannelHandlerContext) {
    if state == .full {
      isReadHeld = true
    } else if count.mayAccept {
      context.read()
    } else {
      isReadHeld = true
      let loop = context.eventLoop
      let bound = NIOLoopBound((self, context), eventLoop: loop)
      count.whenThereIsRoom {
        loop.execute {
          let (guarding, context) = bound.value
          guarding.readAgain(context)
        }
      }
    }
  }

  private func readAgain(_ context: ChannelHandlerContext) {
    guard !isRemoved, isReadHeld, state != .full else { return }
    isReadHeld = false
    read(context: context)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
      return context.fireErrorCaught(error)
    }
    guard state != .full else { return }
    count.isExhausted = true
    if giveUpSpare() {
      state = .taking
    } else {
      state = .full
      recover(context)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let channel = unwrapInboundIn(data)
    count.enter(channel)
    if state == .taking {
      state = .full
      let loop = context.eventLoop
      let bound = NIOLoopBound((self, context), eventLoop: loop)
      channel.closeFuture.hop(to: loop).whenComplete { _ in
        let (guarding, context) = bound.value
        guarding.recover(context)
      }
    }
    context.fireChannelRead(data)
  }

  private func recover(_ context: ChannelHandlerContext) {
    // They would never be closed again.
    guard !isRemoved else { return }
    keepSpares()
    guard !spares.isEmpty else {
      context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) { [self] in
        recover(context)
      }
      return
    }
    state = .ready
    count.isExhausted = false
    readAgain(context)
  }
}
