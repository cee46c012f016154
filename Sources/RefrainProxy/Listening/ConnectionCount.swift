// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import RefrainLocks

package final class ConnectionCount: Sendable {
  private struct State {
    /// `isSurplus`: whether it was beyond the limit when it was accepted.
    var open: [ObjectIdentifier: (channel: any Channel, isSurplus: Bool)] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  /// Called each time, because the limit of descriptors can be changed from outside (prlimit(1)).
  private let limit: @Sendable () -> Int
  /// The connections accepted beyond the limit, to be refused, and up to three more: SwiftNIO
  /// accepts four at a time. The rest wait to be accepted: each accepted one has a descriptor.
  static let mostSurplus = 8

  init(limit: @Sendable @escaping () -> Int) { self.limit = limit }

  package var current: Int { state.withLock(\.open.count) }

  var channels: [any Channel] { state.withLock { $0.open.values.map(\.channel) } }

  /// Counts a connection until it is closed. Called on the event loop that accepts, as soon as the
  /// connection has its descriptor: its own loop may be busy for long, while this one accepts more.
  func enter(_ channel: any Channel) {
    let (id, limit) = (ObjectIdentifier(channel), limit())
    state.withLock { $0.open[id] = (channel, isSurplus: $0.open.count >= limit) }
    channel.closeFuture.whenComplete { [self] _ in state.withLock { $0.open[id] = nil } }
  }

  func isSurplus(_ channel: any Channel) -> Bool {
    state.withLock { $0.open[ObjectIdentifier(channel)]?.isSurplus == true }
  }

  /// Whether one more connection may be accepted, even if only to be refused.
  var mayAccept: Bool {
    let limit = limit()
    return state.withLock { !$0.isClosed && $0.open.count < limit + Self.mostSurplus }
  }

  /// Makes `mayAccept` false; open connections stay.
  func close() { state.withLock { $0.isClosed = true } }
}

/// Stops accepting at the limit and its surplus, and while no descriptor is left: further clients
/// wait, and it looks again after a moment.
final class AcceptGuard: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias InboundOut = any Channel
  typealias OutboundIn = Never

  private let count: ConnectionCount
  private var isRemoved = false

  init(count: ConnectionCount) { self.count = count }

  func handlerRemoved(context: ChannelHandlerContext) { isRemoved = true }

  func read(context: ChannelHandlerContext) {
    if count.mayAccept { context.read() } else { pause(context) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    count.enter(unwrapInboundIn(data))
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
      return context.fireErrorCaught(error)
    }
    pause(context)
  }

  private func pause(_ context: ChannelHandlerContext) {
    // The listening socket would be reported ready again and again.
    try? context.channel.syncOptions?.setOption(.autoRead, value: false)
    context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(20)) { [self] in
      if isRemoved { return }
      guard count.mayAccept else { return pause(context) }
      try? context.channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }
}
