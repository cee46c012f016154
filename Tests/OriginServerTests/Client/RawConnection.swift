// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import OriginServer

/// A plain TCP connection that reads HTTP by the letter and forgives nothing it should not.
final class RawConnection {
  private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
  private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  private var received: [UInt8] = []
  private(set) var isEnded = false
  private(set) var wasReset = false

  private init(
    _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
    _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  ) {
    self.inbound = inbound.makeAsyncIterator()
    self.outbound = outbound
  }

  /// Connects to the origin; the connection is closed after `body`.
  static func open<Value: Sendable>(
    _ origin: OriginServer, receiveBuffer: Int? = nil,
    _ body: @Sendable (RawConnection) async throws -> Value
  ) async throws -> Value {
    var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
    if let receiveBuffer {
      bootstrap = bootstrap.channelOption(
        .socketOption(.so_rcvbuf), value: SocketOptionValue(receiveBuffer))
    }
    let channel = try await bootstrap.connect(host: "127.0.0.1", port: origin.port) { channel in
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

  func send(_ text: String) async throws {
    try await outbound.write(ByteBuffer(string: text))
  }

  func request(_ target: String, _ headers: [String] = [], method: String = "GET") async throws {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: origin"] + headers + ["", ""]
    try await send(lines.joined(separator: "\r\n"))
  }

  func reply(
    to target: String, _ headers: [String] = [], method: String = "GET"
  ) async throws -> Reply {
    try await request(target, headers, method: method)
    return try await readReply(hasBody: method != "HEAD")
  }

  // MARK: Replies

  func readHead() async throws -> Reply {
    var reply = Reply()
    while true {
      guard let head = try await readHeadText() else { return reply }
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

  func readReply(hasBody: Bool = true) async throws -> Reply {
    var reply = try await readHead()
    if !hasBody || reply.status == 304 || reply.status == 0 {
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
    while let line = try await readLine(), let size = Int(line, radix: 16) {
      reply.body += try await read(upTo: size)
      guard try await readLine() == "" else { return }
      if size == 0 {
        reply.isComplete = true
        return
      }
    }
  }

  // MARK: Bytes

  func read(upTo count: Int) async throws -> [UInt8] {
    while received.count < count, try await more() {}
    let bytes = Array(received.prefix(count))
    received.removeFirst(bytes.count)
    return bytes
  }

  func readToEnd() async throws -> [UInt8] {
    while try await more() {}
    defer { received = [] }
    return received
  }

  private func readLine() async throws -> String? {
    var line: [UInt8] = []
    while let byte = try await read(upTo: 1).first {
      if byte == 10 { return String(decoding: line.dropLast(), as: UTF8.self) }
      line.append(byte)
    }
    return nil
  }

  private func readHeadText() async throws -> String? {
    var searched = 0
    while true {
      while searched + 4 <= received.count {
        if received[searched..<searched + 4].elementsEqual([13, 10, 13, 10]) {
          let head = String(decoding: received[..<searched], as: UTF8.self)
          received.removeFirst(searched + 4)
          return head
        }
        searched += 1
      }
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

/// One request on a connection of its own.
func get(
  _ origin: OriginServer, _ target: String, _ headers: [String] = [], method: String = "GET"
) async throws -> Reply {
  try await RawConnection.open(origin) { connection in
    try await connection.reply(to: target, headers, method: method)
  }
}

/// Runs the body with an origin that is stopped afterwards.
func withOrigin(
  sendBuffer: Int? = nil, _ body: @Sendable (OriginServer) async throws -> Void
) async throws {
  let origin = try await OriginServer.start(sendBuffer: sendBuffer)
  do {
    try await body(origin)
  } catch {
    await origin.stop()
    throw error
  }
  await origin.stop()
}
