// SPDX-License-Identifier: MIT
#if os(Linux)
  import NIOCore

  /// Turns the status line of a SHOUTcast server, `ICY 200 OK`, into one of HTTP/1.0, which the
  /// parser behind it takes. It looks at the first bytes of a connection only, and then removes
  /// itself: such a server closes the connection after its answer. TLS never begins with these
  /// bytes.
  final class ICYStatusLine: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let start = Array("ICY ".utf8)
    private static let replacement = Array("HTTP/1.0 ".utf8)

    /// What came of the start so far, while it may be SHOUTcast's.
    private var held: ByteBuffer?
    private var isDone = false

    static func install(in channel: any Channel) -> EventLoopFuture<Void> {
      channel.eventLoop.submit {
        try channel.pipeline.syncOperations.addHandler(ICYStatusLine(), position: .first)
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard !isDone else { return context.fireChannelRead(data) }
      var bytes = held ?? ByteBuffer()
      var chunk = unwrapInboundIn(data)
      if held == nil { bytes = chunk } else { bytes.writeBuffer(&chunk) }
      let head = bytes.readableBytesView.prefix(Self.start.count)
      guard Self.start.starts(with: head) else { return pass(bytes, context) }
      guard head.count == Self.start.count else {
        held = bytes
        return
      }
      bytes.moveReaderIndex(forwardBy: Self.start.count)
      var line = context.channel.allocator.buffer(
        capacity: Self.replacement.count + bytes.readableBytes)
      line.writeBytes(Self.replacement)
      line.writeBuffer(&bytes)
      pass(line, context)
    }

    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
      isDone = true
      held = nil
      context.fireChannelRead(wrapInboundOut(bytes))
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    /// What was held back goes before the end.
    func channelInactive(context: ChannelHandlerContext) {
      if let held { context.fireChannelRead(wrapInboundOut(held)) }
      held = nil
      context.fireChannelInactive()
    }
  }
#endif
