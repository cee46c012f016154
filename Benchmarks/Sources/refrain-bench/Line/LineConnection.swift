// SPDX-License-Identifier: MIT
import Foundation

/// One connection over the line: two sockets, and a reading and a writing thread for each
/// direction. It keeps itself alive until all four threads have ended; then it closes the sockets.
final class LineConnection: Sendable {
  private let client: Int32
  private let origin: Int32
  private let line: Line
  private let upstream: LineQueue
  private let downstream: LineQueue
  /// The time at which the client's first packet after the handshake could have been sent.
  private let opened: Double
  private let threads = DispatchGroup()

  init(client: Int32, origin: Int32, line: Line, accepted: Double) {
    self.client = client
    self.origin = origin
    self.line = line
    upstream = LineQueue(room: line.room)
    downstream = LineQueue(room: line.room)
    opened = accepted + line.roundTrip
  }

  func start() {
    begin { $0.read($0.client, $0.upstream, $0.line.up) }
    begin { $0.write($0.origin, $0.upstream) }
    begin { $0.read($0.origin, $0.downstream, $0.line.down) }
    begin { $0.write($0.client, $0.downstream) }
    threads.notify(queue: .global()) { [self] in
      close(client)
      close(origin)
    }
  }

  private func begin(_ body: @Sendable @escaping (LineConnection) -> Void) {
    threads.enter()
    Thread.detachNewThread { [self] in
      body(self)
      threads.leave()
    }
  }

  private func read(_ socket: Int32, _ queue: LineQueue, _ rate: LineRate) {
    var buffer = [UInt8](repeating: 0, count: line.chunk)
    while queue.waitForRoom(buffer.count) {
      let count = recv(socket, &buffer, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      // The kernel accepts at once: bytes that the client sent since then wait for the handshake.
      Monotonic.sleep(until: opened)
      guard count > 0 else {
        return queue.append(count == 0 ? .end : .reset, due: Monotonic.now + line.delay)
      }
      let left = rate.send(count)
      queue.append(.bytes(Array(buffer[..<count])), due: left + line.delay)
    }
  }

  private func write(_ socket: Int32, _ queue: LineQueue) {
    while let (due, item) = queue.next() {
      Monotonic.sleep(until: due)
      switch item {
      case .bytes(let bytes):
        guard sendAll(bytes, to: socket) else {
          // The other side learns of the break when its packet has crossed the line.
          Monotonic.sleep(until: Monotonic.now + line.delay)
          return breakOff()
        }
        queue.arrived(bytes.count)
      case .end:
        shutdown(socket, Int32(SHUT_WR))
        return
      case .reset: return breakOff()
      }
    }
  }

  private func sendAll(_ bytes: [UInt8], to socket: Int32) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(socket, $0.baseAddress! + offset, $0.count - offset, Sockets.noSignal)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      offset += count
    }
    return true
  }

  /// Ends both sides with a reset instead of an orderly end.
  private func breakOff() {
    for (socket, queue) in [(client, upstream), (origin, downstream)] {
      queue.interrupt()
      Sockets.resetOnClose(socket)
      shutdown(socket, Int32(SHUT_RDWR))
    }
  }
}
