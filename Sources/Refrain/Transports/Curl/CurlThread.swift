// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// Runs libcurl on its thread: waits for sockets, for libcurl's timeout, and for commands
  /// (libcurl-multi(3), curl_multi_socket_action(3)). No other thread calls libcurl.
  final class CurlThread {
    private let settings: CurlTransport.Settings
    private let events: EventQueue
    private let commands: () -> [CurlLoop.Command]
    /// Nil if there is no memory.
    private let multi: UnsafeMutableRawPointer?
    /// Shares TLS sessions, which would otherwise belong to one handle.
    private let share: UnsafeMutableRawPointer?
    private let spares: SpareConnections
    private let kept = KeptConnections()
    private let digests = DigestLogins()
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The watched sockets.
    private var watched: Set<curl_socket_t> = []
    /// The exchanges that received bytes in this round.
    private var fed: [CurlExchange] = []
    /// Those that received bytes in the round before, and whose readers still wait.
    private var waiting: [CurlExchange] = []
    /// When libcurl must be called at the latest.
    private var deadline: ContinuousClock.Instant?

    /// The most idle connections that are kept open (`DescriptorBudget`).
    private static let mostIdle = 32

    /// Called on the thread itself.
    init(
      _ settings: CurlTransport.Settings, _ events: EventQueue,
      commands: @escaping () -> [CurlLoop.Command]
    ) {
      self.settings = settings
      self.events = events
      self.commands = commands
      spares = SpareConnections(slow: settings.slowConnect)
      curl_global_init(Int(CURL_GLOBAL_DEFAULT))
      multi = curl_multi_init()
      share = curl_share_init()
      if let share { refrain_curl_share(share, CURL_LOCK_DATA_SSL_SESSION) }
      guard let multi else { return }
      let context = Unmanaged.passUnretained(self).toOpaque()
      refrain_curl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
      refrain_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostIdle)
      refrain_curl_multi_set_socket_callback(
        multi,
        { _, socket, what, context, _ in
          CurlThread.at(context)?.watch(socket, what)
          return 0
        }, context)
      refrain_curl_multi_set_timer_callback(
        multi,
        { _, milliseconds, context in
          CurlThread.at(context)?.wake(after: milliseconds)
          return 0
        }, context)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlThread? {
      context.map { Unmanaged<CurlThread>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: What it waits for

    /// Never returns.
    func run() -> Never {
      while true {
        for event in events.next(within: waiting.isEmpty ? patience : 0) {
          if event.descriptor == events.bell.descriptor {
            events.bell.silence()
            commands().forEach(carryOut)
          } else {
            act(on: event)
          }
        }
        if let due = deadline, due <= .now {
          deadline = nil
          act(on: nil)
        }
        if let due = spares.deadline, due <= .now { spares.closeOld(at: due) }
        takeMessages()
        wakeReaders()
      }
    }

    /// The time until the next deadline, in whole milliseconds, rounded up: waking early would be
    /// useless.
    private var patience: Int32 {
      guard let deadline = [deadline, spares.deadline].compactMap(\.self).min() else { return -1 }
      let left = (deadline - .now).components
      guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
      let milliseconds =
        left.seconds * 1000 + (left.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
      return Int32(min(milliseconds, 60_000))
    }

    private func wake(after milliseconds: Int) {
      deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
    }

    private func watch(_ socket: curl_socket_t, _ what: Int32) {
      let isNew =
        what == CURL_POLL_REMOVE
        ? watched.remove(socket) == nil : watched.insert(socket).inserted
      events.watch(
        socket, forReading: what == CURL_POLL_IN || what == CURL_POLL_INOUT,
        forWriting: what == CURL_POLL_OUT || what == CURL_POLL_INOUT, isNew: isNew)
    }

    /// - Parameter event: nil: the timeout has passed.
    private func act(on event: EventQueue.Event?) {
      guard let multi else { return }
      var flags: Int32 = 0
      if event?.isReadable == true { flags |= CURL_CSELECT_IN }
      if event?.isWritable == true { flags |= CURL_CSELECT_OUT }
      if event?.isBroken == true { flags |= CURL_CSELECT_ERR }
      var running: Int32 = 0
      curl_multi_socket_action(
        multi, event?.descriptor ?? curl_socket_t(CURL_SOCKET_BAD), flags, &running)
    }

    // MARK: Commands

    private func carryOut(_ command: CurlLoop.Command) {
      switch command {
      case .begin(let exchange): begin(exchange)
      case .goOn(let exchange):
        guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
        let code = curl_easy_pause(transfer.handle, CURLPAUSE_CONT)
        // libcurl reports an end among the bytes that it held back only here. Without a connection,
        // before it and after the end, the call is refused.
        if ![CURLE_OK, CURLE_BAD_FUNCTION_ARGUMENT].contains(code) { finish(transfer, code) }
      case .remove(let exchange): remove(exchange)
      }
    }

    private func begin(_ exchange: CurlExchange, _ attempt: CurlTransfer.Attempt = .init()) {
      guard !exchange.isOver else { return }
      let proxy = settings.proxies.proxy(for: exchange.request.url)
      let hasSpares = proxy == nil && settings.networkInterface == nil
      let login = CurlLogin(exchange.request, settings)
      var attempt = attempt
      if let login, attempt.usesDigest || digests.contain(login) {
        attempt.usesDigest = true
        digests.add(login)
      }
      let known = attempt.usesKnownChallenge ? known(for: login, exchange.request) : nil
      let transfer = CurlTransfer(
        exchange, attempt, login: login, known: known, proxy: proxy, kept: kept,
        spares: hasSpares ? spares : nil
      ) {
        [unowned self] in if fed.last !== $0 { fed.append($0) }
      }
      guard let multi, let transfer else {
        return exchange.ended(TransportError(.unreachable, "No request can be sent: no memory."))
      }
      transfer.setOptions(settings, share: share, besides: transfers.count)
      guard !transfer.isIncomplete else {
        return exchange.ended(TransportError(.unreachable, "No request can be sent: no memory."))
      }
      transfers[ObjectIdentifier(exchange)] = transfer
      let code = curl_multi_add_handle(multi, transfer.handle)
      guard code == CURLM_OK else {
        transfers[ObjectIdentifier(exchange)] = nil
        let reason = String(cString: curl_multi_strerror(code))
        return exchange.ended(TransportError(.unreachable, "No request can be sent: \(reason)."))
      }
    }

    /// Returns a handle that can answer the origin's challenge at once. Only requests that set the
    /// same options share a handle.
    private func known(for login: CurlLogin?, _ request: CurlRequest) -> CurlHandle? {
      guard let login, request.method == "GET", request.body == nil else { return nil }
      return digests.takeHandle(for: login)
    }

    private func remove(_ exchange: CurlExchange) {
      guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
      if let multi { curl_multi_remove_handle(multi, transfer.handle) }
      if let login = transfer.login, let handle = transfer.handleToKeep {
        digests.keep(handle, for: login)
      }
    }

    // MARK: What comes of it

    private func takeMessages() {
      guard let multi else { return }
      var left: Int32 = 0
      while let message = curl_multi_info_read(multi, &left) {
        guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
          let transfer = CurlTransfer.of(handle)
        else { continue }
        finish(transfer, refrain_curl_result(message))
      }
    }

    private func finish(_ transfer: CurlTransfer, _ code: CURLcode) {
      transfer.ended(code)
      let error = transfer.error(for: code)
      kept.add(transfer.socket)
      // Removing the handle invalidates the message.
      remove(transfer.exchange)
      if let next = transfer.next {
        begin(transfer.exchange, next)
      } else {
        transfer.exchange.ended(error)
      }
    }

    /// Wakes the readers for which this round has brought nothing more, or as much as they can take:
    /// waking one costs as much as receiving a chunk.
    private func wakeReaders() {
      for exchange in waiting {
        _ = exchange.wakeReader(onlyForFull: fed.contains { $0 === exchange })
      }
      waiting = fed.filter { !$0.wakeReader(onlyForFull: true) }
      fed.removeAll(keepingCapacity: true)
    }
  }
#endif
