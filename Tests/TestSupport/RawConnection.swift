// SPDX-License-Identifier: MIT

package import NIOCore
import NIOPosix
import OriginServer

/// A plain TCP connection that parses HTTP strictly.
package final class RawConnection {
  private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private var received: [UInt8] = []
  package private(set) var isEnded = false
  package private(set) var wasReset = false

  private init(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.inbound = inbound.makeAsyncIterator()
    self.outbound = outbound
  }

  /// Connects to a port of this machine; closes the connection after `body`.
  package static func open<Value: Sendable>(
    port: Int, at address: String = "127.0.0.1", receiveBuffer: Int? = nil,
    _ body: @Sendable (RawConnection) async throws -> Value
  ) async throws -> Value {
    var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    if let receiveBuffer {
      bootstrap = bootstrap.channelOption(
        .socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBuffer))
    }
    // An address, not the name of a host, for which two look-ups would be made.
    let server = try SocketAddress(ipAddress: address, port: port)
    let channel = try await bootstrap.connect(to: server) { channel in
      channel.eventLoop.makeCompletedFuture {
        try NIOAsyncChannel(
          wrappingChannelSynchronously: channel,
          configuration: .init(
            backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2),
            inboundType: ByteBuffer.self, outboundType: ByteBuffer.self))
      }
    }
    return try await channel.executeThenClose { inbound, outbound in
      try await body(RawConnection(inbound, outbound))
    }
  }

  // MARK: Requests

  package func send(_ text: String) async throws {
    do {
      try await outbound.write(ByteBuffer(string: text))
    } catch ChannelError.ioOnClosedChannel {
      // A server with too many clients responds, and closes, before the request: its response can
      // still be read.
    }
  }

  package func request(
    _ target: String, _ headers: [String] = [], method: String = "GET", host: String? = "origin"
  ) async throws {
    let fields = (host.map { ["Host: \($0)"] } ?? []) + headers
    let lines = ["\(method) \(target) HTTP/1.1"] + fields + ["", ""]
    try await send(lines.joined(separator: "\r\n"))
  }

  package func reply(
    to target: String, _ headers: [String] = [], method: String = "GET", host: String? = "origin"
  ) async throws -> Reply {
    try await request(target, headers, method: method, host: host)
    return try await readReply(hasBody: method != "HEAD")
  }

  // MARK: Replies

  package func readHead() async throws -> Reply {
    var reply = Reply()
    while true {
      guard let head = try await readText(before: "\r\n\r\n") else { return reply }
      var lines = head.split(separator: "\r\n")
      let statusLine = lines.removeFirst().split(separator: " ")
      reply.status = statusLine.count > 1 ? Int(statusLine[1]) ?? 0 : 0
      guard (100..<200).contains(reply.status) else {
        reply.fields = lines.map { line in
          let parts = line.split(separator: ":", maxSplits: 1)
          return Field(String(parts[0]), String(parts.last?.dropFirst() ?? ""))
        }
        return reply
      }
      reply.informational.append(reply.status)
    }
  }

  package func readReply(hasBody: Bool = true) async throws -> Reply {
    var reply = try await readHead()
    if !hasBody || [0, 204, 304].contains(reply.status) {
      reply.isComplete = reply.status != 0
    } else if let length = reply["Content-Length"].flatMap(Int.init) {
      reply.body = try await read(upTo: length)
      reply.isComplete = reply.body.count == length
    } else if reply["Transfer-Encoding"] == "chunked" {
      try await readChunks(&reply)
    } else {
      reply.body = try await readToEnd()
      reply.isComplete = !wasReset
    }
    return reply
  }

  private func readChunks(_ reply: inout Reply) async throws {
    while let line = try await readText(before: "\r\n"), let size = Int(line, radix: 16) {
      reply.body += try await read(upTo: size)
      guard try await readText(before: "\r\n") == "" else { return }
      if size == 0 {
        reply.isComplete = true
        return
      }
    }
  }

  // MARK: Bytes

  package func read(upTo count: Int) async throws -> [UInt8] {
    while received.count < count, try await more() {}
    let bytes = Array(received.prefix(count))
    received.removeFirst(bytes.count)
    return bytes
  }

  package func readToEnd() async throws -> [UInt8] {
    while try await more() {}
    defer { received = [] }
    return received
  }

  /// Returns the text up to `end`, and reads past it; nil if the connection ends before.
  package func readText(before end: String) async throws -> String? {
    let end = Array(end.utf8)
    var searched = 0
    while true {
      let found = received.withUnsafeBufferPointer { bytes in
        (searched..<max(searched, bytes.count - end.count + 1)).first { start in
          end.indices.allSatisfy { bytes[start + $0] == end[$0] }
        }
      }
      if let found {
        defer { received.removeFirst(found + end.count) }
        return String(decoding: received[..<found], as: UTF8.self)
      }
      searched = max(0, received.count - end.count + 1)
      guard try await more() else { return nil }
    }
  }

  private func more() async throws -> Bool {
    guard !isEnded else { return false }
    do {
      guard let buffer = try await inbound.next() else {
        isEnded = true
        return false
      }
      received.append(contentsOf: buffer.readableBytesView)
      return true
    } catch let error as IOError where error.errnoCode == 104 || error.errnoCode == 54 {
      isEnded = true
      wasReset = true
      return false
    }
  }
}
