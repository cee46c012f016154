// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import RefrainLocks

/// The number of connections, and its limit.
final class ConnectionCount: Sendable {
  private let count = Atomic(0)
  /// The connections beyond the limit, until they are closed.
  private let surplus = Mutex<Set<ObjectIdentifier>>([])
  /// Called each time, because the limit of descriptors can be changed from outside (prlimit(1)).
  private let limit: @Sendable () -> Int
  /// The connections accepted beyond the limit, to be refused, and up to three more: SwiftNIO
  /// accepts four at a time. The rest wait to be accepted: each accepted one has a descriptor.
  static let mostSurplus = 8

  init(limit: @Sendable @escaping () -> Int) { self.limit = limit }

  var current: Int { count.load(ordering: .relaxed) }

  /// Counts a connection until it is closed.
  ///
  /// Called on the event loop that accepts, as soon as the connection has its descriptor. Its own
  /// event loop may be busy for long, while this one accepts further connections.
  func enter(_ channel: any Channel) {
    let id = ObjectIdentifier(channel)
    if count.add(1, ordering: .relaxed).newValue > limit() {
      surplus.withLock { _ = $0.insert(id) }
    }
    channel.closeFuture.whenComplete { [self] _ in
      surplus.withLock { _ = $0.remove(id) }
      count.subtract(1, ordering: .relaxed)
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
}

/// Accepts no more connections than the limit permits: further clients wait to be accepted.
///
/// So they do if no descriptor is left for another connection: the listening socket would be reported
/// ready again and again.
final class AcceptGuard: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias InboundOut = any Channel
  typealias OutboundIn = Never

  /// The time after which it is tried again to accept.
  private static let pause = TimeAmount.milliseconds(20)

  private let count: ConnectionCount
  private var isExhausted = false
  private var nextTry: Scheduled<Void>?

  init(count: ConnectionCount) { self.count = count }

  func handlerRemoved(context: ChannelHandlerContext) {
    nextTry?.cancel()
  }

  func read(context: ChannelHandlerContext) {
    guard nextTry == nil else { return }
    if count.mayAccept, !isExhausted { return context.read() }
    nextTry = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [self] in
      (nextTry, isExhausted) = (nil, false)
      read(context: context)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
      return context.fireErrorCaught(error)
    }
    isExhausted = true
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count.enter(unwrapInboundIn(data))
    context.fireChannelRead(data)
  }
}
