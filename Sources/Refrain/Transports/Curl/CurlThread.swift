// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import CLinuxSystem
  import Foundation
  import RefrainLocks

  /// The only thread that calls libcurl (libcurl-multi(3), curl_multi_socket_action(3)). A round
  /// costs as much as the sockets that have something, however many others wait: curl_multi_poll(3)
  /// looks at all of them in each.
  final class CurlThread: Sendable {
    let settings: CurlTransport.Settings
    /// The number of exchanges, which share the memory for buffers.
    let exchanges = Atomic(0)
    private let work = Mutex<[@Sendable (CurlThread) -> Void]>([])
    /// Of epoll(7) for sockets, and of eventfd(2) for work.
    private let queue: Int32
    private let bell: Int32

    // All below is used on the thread alone, but for `post`.
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    /// Shares TLS sessions, which would otherwise belong to one handle.
    nonisolated(unsafe) let share: UnsafeMutableRawPointer
    /// Origins that offer Digest: they get no Basic credentials again.
    private(set) nonisolated(unsafe) var digests: Set<WebOrigin> = []
    private nonisolated(unsafe) var sockets: Set<curl_socket_t> = []
    private nonisolated(unsafe) var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The exchanges that received bytes in this round, and in the one before.
    private nonisolated(unsafe) var fed: [CurlExchange] = []
    private nonisolated(unsafe) var waiting: [CurlExchange] = []
    /// When libcurl must be called at the latest.
    private nonisolated(unsafe) var deadline: ContinuousClock.Instant?

    /// One thread for each of the settings, for the lifetime of the process: connections stay open
    /// between requests, and host names with fixed addresses apply to one thread alone.
    private static let all = Mutex<[CurlTransport.Settings: CurlThread]>([:])

    static func with(_ settings: CurlTransport.Settings) throws -> CurlThread {
      try all.withLock { all in
        if let curl = all[settings] { return curl }
        let curl = try CurlThread(settings)
        all[settings] = curl
        let thread = Thread { curl.run() }
        thread.name = "refrain.curl"
        thread.start()
        return curl
      }
    }

    private init(_ settings: CurlTransport.Settings) throws {
      curl_global_init(Int(CURL_GLOBAL_DEFAULT))
      queue = epoll_create1(Int32(EPOLL_CLOEXEC))
      bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard queue >= 0, bell >= 0, let multi = curl_multi_init(), let share = curl_share_init()
      else {
        for descriptor in [queue, bell] { close(descriptor) }
        throw TransportError(
          .unreachable, "No request can be sent: no descriptor or no memory is left.")
      }
      (self.settings, self.multi, self.share) = (settings, multi, share)
      refrain_curl_share(share, CURL_LOCK_DATA_SSL_SESSION)
      let context = Unmanaged.passUnretained(self).toOpaque()
      refrain_curl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
      // The most idle connections that are kept open (`DescriptorBudget`).
      refrain_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 32)
      refrain_curl_multi_set_socket_callback(multi, context) { _, socket, what, context, _ in
        (object(of: context) as CurlThread).watch(socket, what)
        return 0
      }
      refrain_curl_multi_set_timer_callback(multi, context) { _, milliseconds, context in
        (object(of: context) as CurlThread).deadline =
          milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
        return 0
      }
      watch(bell, CURL_POLL_IN)
    }

    func post(_ next: @escaping @Sendable (CurlThread) -> Void) {
      let isFirst = work.withLock { work in
        work.append(next)
        return work.count == 1
      }
      if isFirst { eventfd_write(bell, 1) }
    }

    private func run() -> Never {
      while true {
        // Rounded up: waking before the deadline would be useless.
        let rest = deadline.map { max(0, min(($0 - .now) / .milliseconds(1), 60_000)) } ?? -1
        wait(within: waiting.isEmpty ? Int32(rest.rounded(.up)) : 0)
        for next in work.withLock({ exchange(&$0, with: []) }) { next(self) }
        if let due = deadline, due <= .now {
          deadline = nil
          act(on: curl_socket_t(CURL_SOCKET_BAD), flags: 0)
        }
        takeMessages()
        wakeReaders()
      }
    }

    private func wait(within milliseconds: Int32) {
      withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        let count = epoll_wait(queue, events.baseAddress, Int32(events.count), milliseconds)
        for event in events.prefix(Int(max(count, 0))) {
          guard event.data.fd != bell else {
            var rings: eventfd_t = 0
            eventfd_read(bell, &rings)
            continue
          }
          // An error shows when the socket is read.
          var flags = event.events == EPOLLOUT.rawValue ? 0 : CURL_CSELECT_IN
          if event.events & EPOLLOUT.rawValue != 0 { flags |= CURL_CSELECT_OUT }
          act(on: event.data.fd, flags: flags)
        }
      }
    }

    private func act(on socket: curl_socket_t, flags: Int32) {
      var running: Int32 = 0
      curl_multi_socket_action(multi, socket, flags, &running)
    }

    /// - Parameter what: the bits of CURLMOPT_SOCKETFUNCTION(3); without one, the watch ends.
    private func watch(_ socket: Int32, _ what: Int32) {
      var event = epoll_event()
      if what & CURL_POLL_IN != 0 { event.events |= EPOLLIN.rawValue }
      if what & CURL_POLL_OUT != 0 { event.events |= EPOLLOUT.rawValue }
      event.data.fd = socket
      guard event.events != 0 else {
        epoll_ctl(queue, EPOLL_CTL_DEL, socket, &event)
        return
      }
      // A closed socket is no longer watched either, and its number may belong to another by now.
      if epoll_ctl(queue, EPOLL_CTL_MOD, socket, &event) != 0, errno == ENOENT {
        epoll_ctl(queue, EPOLL_CTL_ADD, socket, &event)
      }
    }

    // MARK: Transfers

    func begin(_ exchange: CurlExchange, isRepeated: Bool = false) {
      guard !exchange.response.isOver else { return }
      guard let transfer = CurlTransfer(exchange, on: self, isRepeated: isRepeated),
        curl_multi_add_handle(multi, transfer.pointer) == CURLM_OK
      else {
        return exchange.response.end(.init(.unreachable, "No request can be sent: no memory."))
      }
      transfers[ObjectIdentifier(exchange)] = transfer
    }

    func goOn(_ exchange: CurlExchange) {
      guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
      let code = curl_easy_pause(transfer.pointer, CURLPAUSE_CONT)
      // libcurl reports an end among the bytes that it held back only here, and refuses the call
      // where there is no connection.
      if ![CURLE_OK, CURLE_BAD_FUNCTION_ARGUMENT].contains(code) { finish(transfer, code) }
    }

    func upload(_ part: Data, of exchange: CurlExchange) {
      transfers[ObjectIdentifier(exchange)]?.partCame(part)
      goOn(exchange)
    }

    func remove(_ exchange: CurlExchange) {
      guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
      curl_multi_remove_handle(multi, transfer.pointer)
    }

    private func takeMessages() {
      var left: Int32 = 0
      // There are no other messages than that a transfer is over.
      while let message = curl_multi_info_read(multi, &left) {
        finish(
          object(of: refrain_curl_get_private(message.pointee.easy_handle)),
          refrain_curl_result(message))
      }
    }

    private func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
      let (isRepeated, error) = transfer.outcome(of: code)
      // Removing the handle invalidates the message.
      remove(transfer.exchange)
      if isRepeated {
        begin(transfer.exchange, isRepeated: true)
      } else {
        transfer.exchange.response.end(error)
      }
    }

    func useDigest(for origin: WebOrigin) {
      if digests.count >= 1000 { digests = [] }
      digests.insert(origin)
    }

    func received(by exchange: CurlExchange) {
      if fed.last !== exchange { fed.append(exchange) }
    }

    /// Wakes the readers for which this round has brought nothing more: a wake costs as much as a
    /// chunk, and a full chunk has caused one.
    private func wakeReaders() {
      for exchange in waiting where !fed.contains(where: { $0 === exchange }) {
        exchange.response.wake()
      }
      swap(&waiting, &fed)
      fed.removeAll(keepingCapacity: true)
    }

    // MARK: Sockets

    func openSocket(_ address: curl_sockaddr) -> curl_socket_t {
      // Child processes do not inherit it.
      let socket = socket(
        address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
      if socket != CURL_SOCKET_BAD { sockets.insert(socket) }
      return socket
    }

    func closeSocket(_ socket: curl_socket_t) -> Int32 {
      sockets.remove(socket)
      return close(socket)
    }

    /// Whether something has arrived on a kept connection, which the next request would take for
    /// its response: the rest of one longer than its Content-Length, an error, or the end (RFC 9112
    /// §9.5). libcurl names a connection by its local port, which those to several hosts may share:
    /// an error costs a new connection.
    func hasInput(atPort port: Int32) -> Bool {
      sockets.contains { socket in
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return refrain_curl_local_port(socket) == port && poll(&state, 1, 0) != 0
      }
    }
  }
#endif
