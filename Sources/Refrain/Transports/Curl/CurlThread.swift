// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import CLinuxSystem
  import Foundation
  import RefrainLocks

  /// Passes work to the thread that runs libcurl, and wakes it for sockets: epoll(7), eventfd(2).
  final class CurlLoop: Sendable {
    typealias Work = @Sendable (CurlThread) -> Void

    /// The number of exchanges, which share the memory for buffers.
    let exchanges = Atomic(0)
    private let work = Mutex<[Work]>([])
    private let queue: Int32
    private let bell: Int32

    /// One loop for each of the settings, for the lifetime of the process: connections stay open
    /// between requests, and host names with fixed addresses apply to one loop alone.
    private static let all = Mutex<[CurlTransport.Settings: CurlLoop]>([:])

    /// - Throws: `TransportError` if the process has no descriptors left.
    static func with(_ settings: CurlTransport.Settings) throws -> CurlLoop {
      try all.withLock { all in
        if let loop = all[settings] { return loop }
        let loop = try CurlLoop(settings)
        all[settings] = loop
        return loop
      }
    }

    private init(_ settings: CurlTransport.Settings) throws {
      queue = epoll_create1(Int32(EPOLL_CLOEXEC))
      bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard queue >= 0, bell >= 0 else {
        // `deinit` closes what was opened: all properties are set.
        let reason = String(cString: strerror(errno))
        throw TransportError(.unreachable, "No request can be sent: \(reason).")
      }
      watch(bell, CURL_POLL_IN)
      // Handed over to the thread, which alone uses it from here on.
      nonisolated(unsafe) let curl = try CurlThread(settings, self)
      let thread = Thread { curl.run() }
      thread.name = "refrain.curl"
      thread.start()
    }

    deinit {
      if queue >= 0 { close(queue) }
      if bell >= 0 { close(bell) }
    }

    func post(_ next: @escaping Work) {
      let isFirst = work.withLock { work in
        work.append(next)
        return work.count == 1
      }
      var one: UInt64 = 1
      // Fails only after 2^64 rings.
      if isFirst { _ = write(bell, &one, 8) }
    }

    // MARK: For the thread

    func takeWork() -> [Work] {
      work.withLock { work in
        defer { work = [] }
        return work
      }
    }

    /// - Parameter what: the bits of CURLMOPT_SOCKETFUNCTION(3); without one, the watch ends.
    func watch(_ socket: Int32, _ what: Int32) {
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

    /// Waits for sockets or work, without limit if `milliseconds` is -1. `act` receives each socket
    /// with its flags for curl_multi_socket_action(3).
    func wait(within milliseconds: Int32, _ act: (curl_socket_t, Int32) -> Void) {
      withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        let count = epoll_wait(queue, events.baseAddress, Int32(events.count), milliseconds)
        for event in events.prefix(Int(max(count, 0))) {
          guard event.data.fd != bell else {
            var rings: UInt64 = 0
            _ = read(bell, &rings, 8)
            continue
          }
          var flags: Int32 = 0
          if event.events & EPOLLIN.rawValue != 0 { flags |= CURL_CSELECT_IN }
          if event.events & EPOLLOUT.rawValue != 0 { flags |= CURL_CSELECT_OUT }
          if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 {
            flags |= CURL_CSELECT_ERR
          }
          act(event.data.fd, flags)
        }
      }
    }
  }

  /// Runs libcurl on its thread (libcurl-multi(3), curl_multi_socket_action(3)). No other thread calls
  /// libcurl. A round costs as much as the sockets that have something, however many others wait:
  /// curl_multi_poll(3) looks at all of them in each.
  final class CurlThread {
    let settings: CurlTransport.Settings
    /// Shares TLS sessions, which would otherwise belong to one handle.
    let share: UnsafeMutableRawPointer
    /// At most 32 origins that offer Digest: they get no Basic credentials again.
    private(set) var digests: Set<WebOrigin> = []
    private let loop: CurlLoop
    private let multi: UnsafeMutableRawPointer
    private var sockets: Set<curl_socket_t> = []
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The exchanges that received bytes in this round.
    private var fed: [CurlExchange] = []
    /// Those that received bytes in the round before, and whose readers still wait.
    private var waiting: [CurlExchange] = []
    /// When libcurl must be called at the latest.
    private var deadline: ContinuousClock.Instant?

    /// The most idle connections that are kept open (`DescriptorBudget`).
    private static let mostIdle = 32

    init(_ settings: CurlTransport.Settings, _ loop: CurlLoop) throws {
      curl_global_init(Int(CURL_GLOBAL_DEFAULT))
      // Newer versions of libcurl open a descriptor here.
      guard let multi = curl_multi_init(), let share = curl_share_init() else {
        throw TransportError(
          .unreachable, "No request can be sent: no descriptor or no memory is left.")
      }
      (self.settings, self.loop, self.multi, self.share) = (settings, loop, multi, share)
      refrain_curl_share(share, CURL_LOCK_DATA_SSL_SESSION)
      let context = Unmanaged.passUnretained(self).toOpaque()
      refrain_curl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
      refrain_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostIdle)
      refrain_curl_multi_set_socket_callback(
        multi,
        { _, socket, what, context, _ in
          (object(of: context) as CurlThread).loop.watch(socket, what)
          return 0
        }, context)
      refrain_curl_multi_set_timer_callback(
        multi,
        { _, milliseconds, context in
          (object(of: context) as CurlThread).deadline =
            milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
          return 0
        }, context)
    }

    func run() -> Never {
      while true {
        loop.wait(within: waiting.isEmpty ? patience : 0) { act(on: $0, flags: $1) }
        for work in loop.takeWork() { work(self) }
        if let due = deadline, due <= .now {
          deadline = nil
          act(on: curl_socket_t(CURL_SOCKET_BAD), flags: 0)
        }
        takeMessages()
        wakeReaders()
      }
    }

    /// The time until the deadline in whole milliseconds, rounded up: waking early would be useless.
    private var patience: Int32 {
      guard let deadline else { return -1 }
      return Int32(max(0, min((deadline - .now) / .milliseconds(1), 60_000)).rounded(.up))
    }

    private func act(on socket: curl_socket_t, flags: Int32) {
      var running: Int32 = 0
      curl_multi_socket_action(multi, socket, flags, &running)
    }

    // MARK: What is posted

    func begin(_ exchange: CurlExchange, isRepeated: Bool = false, usesDigest: Bool = false) {
      guard !exchange.response.isOver else { return }
      guard
        let transfer = CurlTransfer(
          exchange, on: self, isRepeated: isRepeated, usesDigest: usesDigest),
        curl_multi_add_handle(multi, transfer.pointer) == CURLM_OK
      else {
        return exchange.response.end(
          TransportError(.unreachable, "No request can be sent: no memory."))
      }
      transfers[ObjectIdentifier(exchange)] = transfer
    }

    func goOn(_ exchange: CurlExchange) {
      guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
      let code = curl_easy_pause(transfer.pointer, CURLPAUSE_CONT)
      // libcurl reports an end among the bytes that it held back only here. Without a connection,
      // before it and after the end, the call is refused.
      if ![CURLE_OK, CURLE_BAD_FUNCTION_ARGUMENT].contains(code) { finish(transfer, code) }
    }

    /// - Parameter part: the next one of the request's body.
    func upload(_ part: Data, of exchange: CurlExchange) {
      transfers[ObjectIdentifier(exchange)]?.partCame(part)
      goOn(exchange)
    }

    func remove(_ exchange: CurlExchange) {
      guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
      curl_multi_remove_handle(multi, transfer.pointer)
    }

    // MARK: What transfers report

    func useDigest(for origin: WebOrigin) {
      guard !digests.contains(origin) else { return }
      if digests.count >= 32 { digests.removeFirst() }
      digests.insert(origin)
    }

    func received(by exchange: CurlExchange) {
      if fed.last !== exchange { fed.append(exchange) }
    }

    // MARK: What comes of it

    private func takeMessages() {
      var left: Int32 = 0
      while let message = curl_multi_info_read(multi, &left) {
        // There are no other messages than that a transfer is over.
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
        begin(transfer.exchange, isRepeated: true, usesDigest: transfer.usesDigest)
      } else {
        transfer.exchange.response.end(error)
      }
    }

    /// Wakes the readers for which this round has brought nothing more: waking one costs as much as
    /// receiving a chunk, and for a full chunk it is woken already.
    private func wakeReaders() {
      for exchange in waiting where !fed.contains(where: { $0 === exchange }) {
        exchange.response.wake()
      }
      waiting = fed.filter(\.response.isHoldingBack)
      fed.removeAll(keepingCapacity: true)
    }

    // MARK: Sockets

    /// - Returns: `CURL_SOCKET_BAD` if there are no descriptors left.
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

    /// Whether something has arrived on a kept connection over which no request was sent yet. It
    /// belongs to no response: the rest of one that was longer than its Content-Length, an error,
    /// or the end of the connection (RFC 9112 §9.5). The next request would take it for its
    /// response. libcurl names a connection by its local port, which those to several hosts may
    /// share: an error costs a new connection.
    func hasInput(atPort port: Int) -> Bool {
      sockets.contains { socket in
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return Self.localPort(of: socket) == port && poll(&state, 1, 0) != 0
      }
    }

    private static func localPort(of socket: curl_socket_t) -> Int? {
      var address = sockaddr_in6()
      var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let isKnown = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          getsockname(socket, $0, &length) == 0
        }
      }
      // The port is at the same place in `sockaddr_in` (sockaddr_in6(3type)).
      return isKnown ? Int(UInt16(bigEndian: address.sin6_port)) : nil
    }
  }
#endif
