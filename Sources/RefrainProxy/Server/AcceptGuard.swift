// SPDX-License-Identifier: MIT
import Foundation
import NIOCore

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
