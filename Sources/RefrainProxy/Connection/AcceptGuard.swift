// SPDX-License-Identifier: MIT
import Foundation
import NIOCore

/// Where no descriptor is left for another connection, the listening socket would be reported ready
/// again and again: a descriptor that was kept for this moment is given up, so that one who waits
/// can be taken and, being one too many, told so.
final class AcceptGuard: ChannelDuplexHandler {
  typealias InboundIn = any Channel
  typealias InboundOut = any Channel
  typealias OutboundIn = Never

  private enum State {
    case ready
    /// The spare descriptor was given up: one connection may be taken in its place.
    case taking
    /// Until that one is gone, none is taken.
    case full
  }

  private let count: ConnectionCount
  private var state = State.ready
  private var spare = AcceptGuard.openSpare()
  private var isReadHeld = false

  init(count: ConnectionCount) { self.count = count }

  private static func openSpare() -> CInt { open("/dev/null", O_RDONLY | O_CLOEXEC) }

  private func giveUpSpare() {
    guard spare >= 0 else { return }
    _ = Foundation.close(spare)
    spare = -1
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    giveUpSpare()
  }

  func read(context: ChannelHandlerContext) {
    if state == .full {
      isReadHeld = true
    } else {
      context.read()
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let code = (error as? IOError)?.errnoCode, code == EMFILE || code == ENFILE else {
      return context.fireErrorCaught(error)
    }
    switch state {
    case .ready where spare >= 0:
      giveUpSpare()
      state = .taking
      count.isExhausted = true
    case .ready, .taking:
      // Somebody else was quicker to take it.
      state = .full
      recover(context)
    case .full: break
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if state == .taking {
      state = .full
      let loop = context.eventLoop
      let bound = NIOLoopBound((self, context), eventLoop: loop)
      unwrapInboundIn(data).closeFuture.hop(to: loop).whenComplete { _ in
        let (guarding, context) = bound.value
        guarding.recover(context)
      }
    }
    context.fireChannelRead(data)
  }

  private func recover(_ context: ChannelHandlerContext) {
    if spare < 0 { spare = Self.openSpare() }
    guard spare >= 0 else {
      context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(100)) { [self] in
        recover(context)
      }
      return
    }
    state = .ready
    count.isExhausted = false
    guard isReadHeld else { return }
    isReadHeld = false
    context.read()
  }
}
