// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Glibc

  /// The thread of a control socket: accepts clients, reads their commands, and answers questions
  /// from the published state. It waits for no client, and playing does not wait for it.
  ///
  /// Not Sendable: an instance never leaves its thread.
  final class ControlLoop {
    /// Has the main actor perform an action for a client.
    typealias Perform = @Sendable (_ action: ControlCommand, _ client: Int) -> Void

    private let socket: CInt
    private let mailbox: ControlMailbox
    private let perform: Perform
    private var clients: [ControlClient] = []
    private var lastNumber = -1
    /// Without a free descriptor, nobody is accepted until then.
    private var nextAccept: ContinuousClock.Instant?

    /// Others wait until one leaves.
    static let clientLimit = 32
    /// How long the end waits for clients that have not received everything.
    private static let farewell = Duration.milliseconds(250)

    /// Starts the thread.
    ///
    /// - Parameter socket: a listening socket that does not block, and stays open until the end.
    static func start(_ socket: CInt, _ mailbox: ControlMailbox, perform: @escaping Perform) {
      let thread = Thread {
        ControlLoop(socket, mailbox, perform).run()
        mailbox.end()
      }
      thread.name = "refrain.control"
      thread.start()
    }

    private init(_ socket: CInt, _ mailbox: ControlMailbox, _ perform: @escaping Perform) {
      (self.socket, self.mailbox, self.perform) = (socket, mailbox, perform)
    }

    private func run() {
      while true {
        let news = mailbox.take(hasClients: !clients.isEmpty)
        hear(news)
        let now = ContinuousClock.now
        var end = nextAccept
        for index in clients.indices {
          let number = clients[index].number
          clients[index].work(news.state, at: now) { perform($0, number) }
          if let time = clients[index].report(news.state, now) { end = min(end ?? time, time) }
        }
        if news.isClosing { return leave() }
        removeThoseOver()
        wait(until: clients.contains(where: \.isReady) ? now : end)
      }
    }

    private func hear(_ news: ControlMailbox.News) {
      for (number, answer) in news.answers {
        guard let index = clients.firstIndex(where: { $0.number == number }) else { continue }
        clients[index].finish(answer)
      }
      for event in news.events {
        guard let line = event.line else { continue }
        for index in clients.indices {
          clients[index].add(event: line, isRepeated: event.isRepeated)
        }
      }
    }

    private func removeThoseOver() {
      for client in clients where client.isOver { close(client.file) }
      clients.removeAll(where: \.isOver)
    }

    // MARK: Waiting

    private func wait(until end: ContinuousClock.Instant?) {
      let now = ContinuousClock.now
      if let time = nextAccept, time <= now { nextAccept = nil }
      let accepts = clients.count < Self.clientLimit && nextAccept == nil
      var descriptors = [
        pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0),
        // A negative descriptor is left out.
        pollfd(fd: accepts ? socket : -1, events: Int16(POLLIN), revents: 0),
      ]
      for client in clients {
        let interest = client.interest
        descriptors.append(
          pollfd(fd: interest == nil ? -1 : client.file, events: interest ?? 0, revents: 0))
      }
      let number = poll(&descriptors, nfds_t(descriptors.count), Self.milliseconds(until: end, now))
      guard number > 0 else { return }
      for (index, descriptor) in descriptors.dropFirst(2).enumerated()
      where descriptor.revents & ~Int16(POLLOUT) != 0 {
        clients[index].receive()
      }
      if descriptors[1].revents != 0 { accept() }
    }

    private static func milliseconds(
      until end: ContinuousClock.Instant?, _ now: ContinuousClock.Instant
    ) -> CInt {
      guard let end else { return -1 }
      return end <= now ? 0 : CInt(min((end - now) / .milliseconds(1) + 1, 60_000))
    }

    private func accept() {
      let file = Glibc.accept(socket, nil, nil)
      guard file >= 0 else {
        // Asking again at once would not help.
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
          nextAccept = .now + .seconds(1)
        }
        return
      }
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
      lastNumber += 1
      clients.append(ControlClient(file, number: lastNumber))
    }

    // MARK: The end

    /// Sends what is left to clients that read it, and closes the connections.
    private func leave() {
      // Nobody performs what still waits.
      for index in clients.indices { clients[index].finish(.failure(.playerHasEnded)) }
      let end = ContinuousClock.now + Self.farewell
      while true {
        for index in clients.indices { clients[index].flush() }
        var descriptors = clients.compactMap { client in
          client.interest.flatMap {
            $0 & Int16(POLLOUT) != 0
              ? pollfd(fd: client.file, events: Int16(POLLOUT), revents: 0) : nil
          }
        }
        let now = ContinuousClock.now
        guard !descriptors.isEmpty, now < end else { break }
        _ = poll(&descriptors, nfds_t(descriptors.count), Self.milliseconds(until: end, now))
      }
      for client in clients { close(client.file) }
      clients = []
    }
  }
#endif
