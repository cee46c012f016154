// SPDX-License-Identifier: MIT

import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import OriginServer

/// Back pressure, which the log cannot show: the origin makes no more of a body than the channel
/// wants.
@Suite(.timeLimit(.minutes(1)))
struct OriginBackPressureTests {
  /// Stops being writable once too many bytes have not been taken.
  final class Narrow: ChannelOutboundHandler {
    typealias OutboundIn = IOData

    let channel: EmbeddedChannel
    var bytes = 0

    init(_ channel: EmbeddedChannel) { self.channel = channel }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      bytes += unwrapOutboundIn(data).readableBytes
      if bytes > 100_000 { channel.isWritable = false }
      promise?.succeed()
    }

    func take() {
      bytes = 0
      channel.isWritable = true
      channel.pipeline.fireChannelWritabilityChanged()
    }
  }

  @Test(arguments: [[], [Fault.chunked], [.stall(at: .body(300_000), for: .zero)]])
  func `The origin produces no more than the channel accepts`(_ faults: [Fault]) throws {
    let length: Int64 = 1 << 20
    let state = OriginState()
    state.serve(.synthetic(seed: 1, length: length), at: "/a")
    state.script("/a", .on(.all, faults))
    let channel = EmbeddedChannel()
    let narrow = Narrow(channel)
    try channel.pipeline.syncOperations.addHandlers([narrow, OriginConnection(state)])
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/a")
    try channel.writeInbound(HTTPServerRequestPart.head(head))
    try channel.writeInbound(HTTPServerRequestPart.end(nil))
    var rounds = 0
    while state.log("/a").running == 1 {
      channel.embeddedEventLoop.run()
      #expect(narrow.bytes <= 100_000 + 65_536)
      rounds += 1
      try #require(rounds < 100)
      narrow.take()
    }
    #expect(rounds >= 6)
    #expect(state.log("/a").bodyBytesSent == length)
    _ = try channel.finish()
  }
}
