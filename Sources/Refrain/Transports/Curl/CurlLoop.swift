// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation
  import RefrainLocks

  /// Passes commands to the thread that runs libcurl.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case begin(CurlExchange)
      /// There is room for the response's body.
      case goOn(CurlExchange)
      /// The next part of the request's body; nil at its end.
      case upload(Data?, CurlExchange)
      case remove(CurlExchange)
    }

    private let commands = Mutex<[Command]>([])
    private let events: EventQueue
    /// The number of exchanges, which share the memory for buffers.
    let exchanges = Atomic(0)

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
      events = try EventQueue()
      let thread = Thread {
        CurlThread(settings, self.events).run {
          self.commands.withLock { commands in
            defer { commands = [] }
            return commands
          }
        }
      }
      thread.name = "refrain.curl"
      thread.start()
    }

    func post(_ command: Command) {
      let isFirst = commands.withLock { commands in
        commands.append(command)
        return commands.count == 1
      }
      if isFirst { events.ring() }
    }
  }

  /// Runs libcurl on its thread: waits for sockets, for libcurl's timeout, and for commands
  /// (libcurl-multi(3), curl_multi_socket_action(3)). No other thread calls libcurl. A round costs as
  /// much as the sockets that have something, however many others wait: curl_multi_poll(3) looks at
  /// all of them in each.
  private final class CurlThread {
    private let settings: CurlTransport.Settings
    private let events: EventQueue
    /// Nil if there is no memory.
    private let multi: UnsafeMutableRawPointer?
    /// Shares TLS sessions, which would otherwise belong to one handle.
    private let share: UnsafeMutableRawPointer?
    private let sockets = CurlSockets()
    private var digests = DigestLogins()
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The exchanges that received bytes in this round.
    private var fed: [CurlExchange] = []
    /// Those that received bytes in the round before, and whose readers still wait.
    private var waiting: [CurlExchange] = []
    /// When libcurl must be called at the latest.
    private var deadline: ContinuousClock.Instant?

    /// The most idle connections that are kept open (`DescriptorBudget`).
    private static let mostIdle = 32

    /// Called on the thread itself.
    init(_ settings: CurlTransport.Settings, _ events: EventQueue) {
      self.settings = settings
      self.events = events
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
          CurlThread.at(context)?.events.watch(
            socket, forReading: what == CURL_POLL_IN || what == CURL_POLL_INOUT,
            forWriting: what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
          return 0
        }, context)
      refrain_curl_multi_set_timer_callback(
        multi,
        { _, milliseconds, context in
          CurlThread.at(context)?.deadline =
            milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
          return 0
        }, context)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlThread? {
      object(of: context)
    }

    /// Never returns.
    ///
    /// - Parameter commands: returns the commands that have come since the last call.
    func run(_ commands: () -> [CurlLoop.Command]) -> Never {
      while true {
        for event in events.next(within: waiting.isEmpty ? patience : 0) { act(on: event) }
        commands().forEach(carryOut)
        if let due = deadline, due <= .now {
          deadline = nil
          act(on: .init(socket: curl_socket_t(CURL_SOCKET_BAD), flags: 0))
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

    private func act(on event: EventQueue.Event) {
      var running: Int32 = 0
      if let multi { curl_multi_socket_action(multi, event.socket, event.flags, &running) }
    }

    // MARK: Commands

    private func carryOut(_ command: CurlLoop.Command) {
      switch command {
      case .begin(let exchange): begin(exchange)
      case .goOn(let exchange): goOn(exchange)
      case .upload(let part, let exchange):
        transfers[ObjectIdentifier(exchange)]?.partCame(part)
        goOn(exchange)
      case .remove(let exchange): remove(exchange)
      }
    }

    private func goOn(_ exchange: CurlExchange) {
      guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
      let code = curl_easy_pause(transfer.handle.pointer, CURLPAUSE_CONT)
      // libcurl reports an end among the bytes that it held back only here. Without a connection,
      // before it and after the end, the call is refused.
      if ![CURLE_OK, CURLE_BAD_FUNCTION_ARGUMENT].contains(code) { finish(transfer, code) }
    }

    private func begin(_ exchange: CurlExchange, retry: CurlTransfer.Retry? = nil) {
      guard !exchange.response.isOver else { return }
      let transfer = CurlTransfer(exchange, settings, retry: retry, &digests, sockets: sockets) {
        [unowned self] in if fed.last !== $0 { fed.append($0) }
      }
      transfer?.setOptions(settings, share: share)
      guard let multi, let transfer, !transfer.handle.isIncomplete,
        curl_multi_add_handle(multi, transfer.handle.pointer) == CURLM_OK
      else {
        return exchange.ended(TransportError(.unreachable, "No request can be sent: no memory."))
      }
      transfers[ObjectIdentifier(exchange)] = transfer
    }

    private func remove(_ exchange: CurlExchange) {
      guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
      if let multi { curl_multi_remove_handle(multi, transfer.handle.pointer) }
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
      // Removing the handle invalidates the message.
      remove(transfer.exchange)
      if let retry = transfer.retry {
        begin(transfer.exchange, retry: retry)
      } else {
        transfer.exchange.ended(error)
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
  }
#endif
