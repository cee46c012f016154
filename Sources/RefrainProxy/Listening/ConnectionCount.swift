// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import RefrainLocks

/// The number of connections, and its limit.
final class ConnectionCount: Sendable {
  private let count = Atomic(0)
  /// The connections beyond the limit, until they are closed.
  private let surplus = Mutex<Set<ObjectIdentifier>>([])
  private let closed = Atomic(false)
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
  var mayAccept: Bool {
    !closed.load(ordering: .relaxed) && current < limit() + Self.mostSurplus
  }

  /// Lets no more connections be accepted.
  func close() { closed.store(true, ordering: .relaxed) }
}

/// Accepts no more connections than the limit permits, and none while no descriptor is left for
/// them: further clients wait, and it looks again after a moment.
final class AcceptGuard: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias InboundOut = any Channel
  typealias OutboundIn = Never

  private static let pause = TimeAmount.milliseconds(20)

  private let count: ConnectionCount
  private var isRemoved = false

  init(count: ConnectionCount) { self.count = count }

  func handlerRemoved(context: ChannelHandlerContext) { isRemoved = true }

  func read(context: ChannelHandlerContext) {
    if count.mayAccept { return context.read() }
    afterPause(context) { $0.read(context: $1) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count.enter(unwrapInboundIn(data))
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
      return context.fireErrorCaught(error)
    }
    // The listening socket would be reported ready again and again.
    try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    afterPause(context) { $0.acceptAgain(context: $1) }
  }

  private func acceptAgain(context: ChannelHandlerContext) {
    guard count.mayAccept else { return afterPause(context) { $0.acceptAgain(context: $1) } }
    try? context.channel.syncOptions?.setOption(.autoRead, value: true)
  }

  private func afterPause(
    _ context: ChannelHandlerContext,
    _ action: @escaping (AcceptGuard, ChannelHandlerContext) -> Void
  ) {
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [self] in
      if !isRemoved { action(self, context) }
    }
  }
}
