// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import NIOCore
  import NIOHTTP1

  /// Hands on what came of a body before its connection broke.
  ///
  /// Where the other side closes a connection, SwiftNIO reads all that is left in the socket at
  /// once, whether it was asked to or not. AsyncHTTPClient keeps what nobody has asked for yet, and
  /// drops it when the connection ends in the middle of a body; where the body ends, it hands all of
  /// it on. So the body is ended here, and a last part says that it broke: what no origin can send,
  /// for it begins with a secret of this process.
  final class BrokenBody: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private static let secret: [UInt8] = (0..<32).map { _ in UInt8.random(in: 0...255) }

    /// Whether a head has come, and not yet the end of its body.
    private var isReceiving = false

    static func install(in channel: any Channel) -> EventLoopFuture<Void> {
      channel.eventLoop.submit {
        let operations = channel.pipeline.syncOperations
        let decoder = try operations.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        try operations.addHandler(BrokenBody(), position: .after(decoder))
      }
    }

    /// How the body broke, where these bytes are the last part of a broken one.
    static func reason(in part: ByteBuffer) -> String? {
      guard part.readableBytesView.starts(with: secret) else { return nil }
      return String(decoding: part.readableBytesView.dropFirst(secret.count), as: UTF8.self)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): isReceiving = head.status.code >= 200
      case .body: break
      case .end: isReceiving = false
      }
      context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      if let reason = AsyncHTTPClientErrors.reasonOfBreak(error) { end(reason, context) }
      context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
      end(AsyncHTTPClientErrors.closed, context)
      context.fireChannelInactive()
    }

    private func end(_ reason: String, _ context: ChannelHandlerContext) {
      guard isReceiving else { return }
      isReceiving = false
      var last = context.channel.allocator.buffer(capacity: Self.secret.count + reason.utf8.count)
      last.writeBytes(Self.secret)
      last.writeString(reason)
      context.fireChannelRead(wrapInboundOut(.body(last)))
      context.fireChannelRead(wrapInboundOut(.end(nil)))
      context.fireChannelReadComplete()
    }
  }
#endif
