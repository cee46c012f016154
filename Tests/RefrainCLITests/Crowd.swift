// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// Many clients at once, each with its own connection, on one thread of the test: all of them
  /// send their requests first, and then read a little in turn.
  ///
  /// Unchecked: one thread after the other uses it.
  final class Crowd: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
      var description: String
    }

    struct Client {
      var descriptor: CInt
      var range: Range<Int>
      var received: [UInt8] = []
      var isOver = false
    }

    struct Answer: Sendable {
      var status: Int
      var range: Range<Int>
      var body: ArraySlice<UInt8>
    }

    private var clients: [Client] = []
    private let ended = Mutex<[Answer]>([])

    /// The responses received by the last `readAll`. Callable from any thread; all other members
    /// are for one thread.
    var answers: [Answer] { ended.withLock { $0 } }

    deinit { leave() }

    func leave() {
      for client in clients where client.descriptor >= 0 { close(client.descriptor) }
      clients = []
    }

    /// Connects one more client; its small buffer does not receive unread bytes.
    func connect(port: Int) throws {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard descriptor >= 0 else { throw Failure(description: String(cString: strerror(errno))) }
      clients.append(Client(descriptor: descriptor, range: 0..<0))
      var size: CInt = 4096
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else { throw Failure(description: String(cString: strerror(errno))) }
    }

    func ask(_ index: Int, _ target: String, host: String, range: Range<Int>) throws {
      clients[index].range = range
      let text =
        "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nRange: bytes=\(range.lowerBound)-\(range.upperBound - 1)\r\nConnection: close\r\n\r\n"
      let bytes = Array(text.utf8)
      guard
        send(clients[index].descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
          == bytes.count
      else { throw Failure(description: "not sent") }
    }

    /// Reads with all clients, a little at a time, until every response has ended. Blocks.
    ///
    /// - Parameter enough: the number of bytes after which a client stops reading, and keeps its
    ///   connection.
    func readAll(step: Int = 16 << 10, enough: Int = .max) throws {
      var buffer = [UInt8](repeating: 0, count: step)
      var open = clients.indices.filter { !clients[$0].isOver }
      while !open.isEmpty {
        var polls = open.map {
          pollfd(fd: clients[$0].descriptor, events: Int16(POLLIN), revents: 0)
        }
        guard poll(&polls, nfds_t(polls.count), 60_000) > 0 else {
          throw Failure(
            description: "\(open.count) of \(clients.count) were given nothing for a minute")
        }
        for (place, index) in open.enumerated() where polls[place].revents != 0 {
          let count = recv(clients[index].descriptor, &buffer, step, 0)
          if count > 0 {
            clients[index].received += buffer[..<count]
          } else {
            clients[index].isOver = true
            close(clients[index].descriptor)
            clients[index].descriptor = -1
          }
        }
        open.removeAll { clients[$0].isOver || clients[$0].received.count >= enough }
      }
      let answers = clients.map(Self.answer)
      ended.withLock { $0 = answers }
    }

    private static func answer(_ client: Client) -> Answer {
      let received = client.received
      let end = Data(received.prefix(4096)).range(of: Data("\r\n\r\n".utf8))?.upperBound ?? 0
      let words = String(decoding: received.prefix(20), as: UTF8.self).split(separator: " ")
      return Answer(
        status: words.count > 1 ? Int(words[1]) ?? 0 : 0, range: client.range,
        body: received[end...])
    }
  }
#endif
