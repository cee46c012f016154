// SPDX-License-Identifier: MIT

public import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import RefrainLocks

/// A real HTTP/1.1 origin on the loopback interface with scripted faults, for tests and benchmarks.
///
/// ```swift
/// let origin = try await OriginServer.start()
/// origin.serve(.synthetic(seed: 1, length: 1_000_000), at: "/a.mp4")
/// origin.script("/a.mp4", .on(.first(1), .drop(at: .body(5000))))
/// // … fetch origin.url("/a.mp4") …
/// origin.log("/a.mp4").bytesSentTwice
/// await origin.stop()
/// ```
///
/// Paths without a resource respond with 404; they can have scripts too. A path with a query is
/// looked up as it is first, then without its query.
public final class OriginServer: Sendable {
  /// `http://127.0.0.1:port`
  public let baseURL: URL
  /// The listening port, the same after `stopListening` and `resumeListening`.
  public let port: Int
  /// Connections accepted since the start.
  public var connectionsAccepted: Int { state.connectionsAccepted }

  private let state: OriginState
  private let listener: Mutex<(any Channel)?>
  private let reservation: Mutex<PortReservation?>
  private let sendBuffer: Int?

  private init(
    _ channel: any Channel, _ reservation: PortReservation, state: OriginState, sendBuffer: Int?
  ) throws {
    guard let port = channel.localAddress?.port, let url = URL(string: "http://127.0.0.1:\(port)")
    else { throw ChannelError.unknownLocalAddress }
    self.port = port
    self.state = state
    self.sendBuffer = sendBuffer
    baseURL = url
    listener = Mutex(channel)
    self.reservation = Mutex(reservation)
  }

  /// Listens on 127.0.0.1. Port 0 selects a free one. `sendBuffer` is the SO_SNDBUF of accepted
  /// connections: with a small one, the log shows earlier that a client does not read. Throws if
  /// the port is taken.
  public static func start(port: Int = 0, sendBuffer: Int? = nil) async throws -> OriginServer {
    let state = OriginState()
    let reservation = try PortReservation(port: port)
    let channel = try await listen(reservation.port, state, sendBuffer)
    return try OriginServer(channel, reservation, state: state, sendBuffer: sendBuffer)
  }

  private static func listen(
    _ port: Int, _ state: OriginState, _ sendBuffer: Int?
  ) async throws -> any Channel {
    var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(
        .writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024)
      )
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)
          try channel.pipeline.syncOperations.addHandlers([
            ByteToMessageHandler(decoder), OriginConnection(state),
          ])
        }
      }
    if let sendBuffer {
      let value = SocketOptionValue(sendBuffer)
      bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: value)
    }
    return try await bootstrap.bind(host: "127.0.0.1", port: port).get()
  }

  /// Returns the URL of a path, which may have a query and must begin with `/`.
  public func url(_ path: String) -> URL {
    URL(string: path, relativeTo: baseURL)?.absoluteURL ?? baseURL.appending(path: path)
  }

  /// Serves the resource at the path from the next request on, replacing the previous one.
  public func serve(_ resource: OriginResource, at path: String) {
    state.serve(resource, at: path)
  }

  /// Serves the playlist and the segments of a live stream from the next request on, where nothing
  /// else is served. A request for a part that does not exist yet counts in the log as stalled.
  ///
  /// - Parameters:
  ///   - stream: the stream.
  ///   - directory: begins and ends with `/`.
  ///   - clock: the stream's time.
  public func serve(_ stream: LiveStream, under directory: String, clock: LiveClock) {
    state.serve(LiveSource(directory: directory, stream: stream, clock: clock))
  }

  /// Sets the path's script from the next request on, which becomes number 1.
  public func script(_ path: String, _ script: FaultScript) { state.script(path, script) }

  /// Returns the path's log since the start or since `resetLog`. It contains all that clients have
  /// received: this blocks for the moment that connections need to record it.
  public func log(_ path: String) -> OriginLog {
    settle(path)
    return state.log(path)
  }

  /// Clears the path's log, including what clients have received so far; request numbers continue.
  public func resetLog(_ path: String) {
    settle(path)
    state.resetLog(path)
  }

  /// Waits until each event loop with a connection of the path has finished what it was doing: a
  /// client can receive the end of a response before the loop that wrote it has recorded that.
  private func settle(_ path: String) {
    // An event loop must not wait for another one, and cannot wait for itself.
    guard MultiThreadedEventLoopGroup.currentEventLoop == nil else { return }
    let turns = DispatchGroup()
    for loop in state.eventLoops(of: path) {
      turns.enter()
      loop.execute { turns.leave() }
    }
    // Far longer than a loop is ever busy: a limit only because every wait ends.
    _ = turns.wait(timeout: .now() + .seconds(5))
  }

  /// Waits until the path's log meets the condition, and returns it. The condition must not call
  /// the server. Throws only when the task is cancelled.
  @discardableResult
  public func wait(
    for path: String, until condition: @escaping @Sendable (OriginLog) -> Bool
  ) async throws -> OriginLog {
    try await state.wait(path, condition)
  }

  /// Resumes the path's responses that are stalled or delayed without a duration.
  public func release(_ path: String) {
    for channel in state.channels {
      channel.pipeline.fireUserInboundEventTriggered(OriginConnection.Release(path: path))
    }
  }

  /// Closes every open connection; the server continues to listen.
  public func closeConnections() async {
    for channel in state.channels {
      channel.close(promise: nil)
      await channel.closed()
    }
  }

  /// Refuses connections and closes the open ones: the origin is gone.
  public func stopListening() async {
    if let channel = listener.withLock({ $0.take() }) {
      channel.close(promise: nil)
      await channel.closed()
      await refused()
    }
    await closeConnections()
  }

  /// Returns once connections are refused. A child that this process is starting has copies of its
  /// sockets until it execs (fork(2)), and a closed one may accept connections for a moment.
  private func refused() async {
    let end = ContinuousClock.now + .seconds(5)
    while ContinuousClock.now < end {
      do {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .connect(host: "127.0.0.1", port: port).get()
        // The connection was accepted by mistake and is not used.
        try? await channel.close()
        try await Task.sleep(for: .milliseconds(1))
      } catch {
        return
      }
    }
  }

  /// Listens on the same port again after `stopListening`. On Linux the port stays reserved
  /// meanwhile; elsewhere this throws if it was taken.
  public func resumeListening() async throws {
    guard listener.withLock({ $0 == nil }) else { return }
    let channel = try await Self.listen(port, state, sendBuffer)
    listener.withLock { $0 = channel }
  }

  /// Closes the listener and every connection, and releases the port.
  public func stop() async {
    await stopListening()
    reservation.withLock { $0 = nil }
  }
}

extension Channel {
  /// Returns when the channel is closed, for whatever reason.
  fileprivate func closed() async {
    await withCheckedContinuation { continuation in
      closeFuture.whenComplete { _ in continuation.resume() }
    }
  }
}
