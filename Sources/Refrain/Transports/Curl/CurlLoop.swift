// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation
  import RefrainLocks

  /// Passes commands to the thread that runs libcurl.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case begin(CurlExchange)
      /// An exchange can continue: there is room for the body, or a part of the request's.
      case goOn(CurlExchange)
      case remove(CurlExchange)
    }

    /// libcurl's multi handle. Its thread alone uses it, except for curl_multi_wakeup(3), which any
    /// thread may call.
    private struct Multi: @unchecked Sendable {
      let pointer: UnsafeMutableRawPointer
    }

    private let commands = Mutex<[Command]>([])
    private let multi: Multi
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
      curl_global_init(Int(CURL_GLOBAL_DEFAULT))
      // Without descriptors for the wake-up, no command would arrive.
      let multi = curl_multi_init()
      guard let multi, curl_multi_wakeup(multi) == CURLM_OK else {
        let reason = String(cString: strerror(errno))
        curl_multi_cleanup(multi)
        throw TransportError(.unreachable, "No request can be sent: \(reason).")
      }
      self.multi = Multi(pointer: multi)
      let thread = Thread {
        CurlThread(settings, self.multi.pointer).run {
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
      if isFirst { curl_multi_wakeup(multi.pointer) }
    }
  }

  /// Runs libcurl on its thread: waits for sockets, for libcurl's timeouts, and for commands
  /// (libcurl-multi(3)). No other thread calls libcurl, except to wake this one.
  private final class CurlThread {
    private let settings: CurlTransport.Settings
    private let multi: UnsafeMutableRawPointer
    /// Shares TLS sessions, which would otherwise belong to one handle.
    private let share: UnsafeMutableRawPointer?
    private let sockets = CurlSockets()
    private let digests = DigestLogins()
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    /// The exchanges that received bytes in this round.
    private var fed: [CurlExchange] = []
    /// Those that received bytes in the round before, and whose readers still wait.
    private var waiting: [CurlExchange] = []

    /// The most idle connections that are kept open (`DescriptorBudget`).
    private static let mostIdle = 32
    /// The longest wait, in milliseconds. What has to be done ends it earlier.
    private static let longestWait: Int32 = 60_000

    /// Called on the thread itself.
    init(_ settings: CurlTransport.Settings, _ multi: UnsafeMutableRawPointer) {
      self.settings = settings
      self.multi = multi
      share = curl_share_init()
      if let share { refrain_curl_share(share, CURL_LOCK_DATA_SSL_SESSION) }
      refrain_curl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
      refrain_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostIdle)
    }

    /// Never returns.
    ///
    /// - Parameter commands: returns the commands that have come since the last call.
    func run(_ commands: () -> [CurlLoop.Command]) -> Never {
      while true {
        curl_multi_poll(multi, nil, 0, waiting.isEmpty ? Self.longestWait : 0, nil)
        commands().forEach(carryOut)
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        takeMessages()
        wakeReaders()
      }
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
      let login = CurlLogin(exchange.request, settings)
      var attempt = attempt
      if let login, attempt.usesDigest || digests.contain(login) {
        attempt.usesDigest = true
        digests.add(login)
      }
      let known = attempt.usesKnownChallenge ? known(for: login, exchange.request) : nil
      let transfer = CurlTransfer(
        exchange, attempt, login: login, known: known, proxy: proxy, sockets: sockets
      ) {
        [unowned self] in if fed.last !== $0 { fed.append($0) }
      }
      transfer?.setOptions(settings, share: share, besides: transfers.count)
      guard let transfer, !transfer.isIncomplete,
        curl_multi_add_handle(multi, transfer.handle) == CURLM_OK
      else {
        return exchange.ended(TransportError(.unreachable, "No request can be sent: no memory."))
      }
      transfers[ObjectIdentifier(exchange)] = transfer
    }

    /// Returns a handle that can answer the origin's challenge at once. Only requests that set the
    /// same options share a handle.
    private func known(for login: CurlLogin?, _ request: RelayedRequest) -> CurlHandle? {
      guard let login, request.method == "GET", request.body == nil else { return nil }
      return digests.takeHandle(for: login)
    }

    private func remove(_ exchange: CurlExchange) {
      guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
      curl_multi_remove_handle(multi, transfer.handle)
      if let login = transfer.login, let handle = transfer.handleToKeep {
        digests.keep(handle, for: login)
      }
    }

    // MARK: What comes of it

    private func takeMessages() {
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
