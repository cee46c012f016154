// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RefrainProxy

/// Connections whose event loop is busy while others are accepted.
@Suite(.timeLimit(.minutes(1))) struct AcceptGuardTests {
  private static let limit = 4

  /// Listens with `count`, on an event loop of its own; accepted connections are on another one.
  ///
  /// - Parameter begin: called for each accepted connection, on its event loop.
  private func withListener(
    _ count: ConnectionCount, begin: @Sendable @escaping (any Channel) -> Void,
    _ body: (_ listening: any Channel, _ connections: any EventLoop) async throws -> Void
  ) async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let children = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let listening = try await ServerBootstrap(group: group, childGroup: children)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptGuard(count: count))
        }
      }
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { begin(channel) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(listening, children.next()))
    } catch {
      result = .failure(error)
    }
    try await listening.close().get()
    try await children.shutdownGracefully()
    try await group.shutdownGracefully()
    try result.get()
  }

  @Test func `No more are accepted than the limit permits while their event loop is busy`()
    async throws
  {
    let count = ConnectionCount { Self.limit }
    let mayGoOn = DispatchSemaphore(value: 0)
    try await withListener(count, begin: { _ in }) { listening, connections in
      connections.execute { mayGoOn.wait() }
      defer { mayGoOn.signal() }
      let port = try #require(listening.localAddress?.port)
      let clients = try (0..<60).map { _ in try PlainSocket(port: port) }
      let most = Self.limit + ConnectionCount.mostSurplus
      try await eventually("as many as may are accepted") { count.current >= most }
      // More than all of them would need.
      for _ in 0..<60 { try await listening.eventLoop.submit {}.get() }
      #expect(count.current < most + 4)
      withExtendedLifetime(clients) {}
    }
  }

  @Test func `The first ones accepted are served, however late their event loop comes to them`()
    async throws
  {
    let count = ConnectionCount { Self.limit }
    let (ranks, post) = AsyncStream.makeStream(of: Bool.self)
    let mayGoOn = DispatchSemaphore(value: 0)
    try await withListener(count, begin: { post.yield(count.isSurplus($0)) }) {
      listening, connections in
      connections.execute { mayGoOn.wait() }
      let port = try #require(listening.localAddress?.port)
      let clients: [PlainSocket]
      do {
        defer { mayGoOn.signal() }
        clients = try (0..<10).map { _ in try PlainSocket(port: port) }
        try await eventually("they are accepted") { count.current == 10 }
      }
      var isSurplus: [Bool] = []
      for await rank in ranks {
        isSurplus.append(rank)
        if isSurplus.count == 10 { break }
      }
      #expect(isSurplus == (0..<10).map { $0 >= Self.limit })
      withExtendedLifetime(clients) {}
      // Closed, they make room.
      for client in clients { client.close() }
      try await eventually("all are gone") { count.current == 0 }
    }
  }

  @Test func `While no descriptor is left nobody is accepted, and clients wait`() async throws {
    let count = ConnectionCount { Self.limit }
    try await withListener(count, begin: { _ in }) { listening, _ in
      let isAccepting = try await listening.eventLoop.submit {
        listening.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        return try listening.syncOptions?.getOption(.autoRead)
      }.get()
      #expect(isAccepting == false)
      let client = try PlainSocket(port: try #require(listening.localAddress?.port))
      try await eventually("it is accepted") { count.current == 1 }
      client.close()
      try await eventually("it is gone") { count.current == 0 }
    }
  }
}
