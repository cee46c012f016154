// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation
  import RefrainLocks

  /// Passes work to the thread that runs libcurl.
  final class CurlLoop: Sendable {
    typealias Work = @Sendable (CurlThread) -> Void

    private let work = Mutex<[Work]>([])
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
      curl_global_init(Int(CURL_GLOBAL_DEFAULT))
      // Newer versions of libcurl open a descriptor here.
      guard let multi = curl_multi_init() else { throw Self.nothingLeft }
      guard let share = curl_share_init() else {
        curl_multi_cleanup(multi)
        throw Self.nothingLeft
      }
      // Handed over to the thread, which alone uses them from here on.
      nonisolated(unsafe) let (lentMulti, lentShare) = (multi, share)
      let thread = Thread {
        CurlThread(settings, self.events, multi: lentMulti, share: lentShare).run {
          self.work.withLock { work in
            defer { work = [] }
            return work
          }
        }
      }
      thread.name = "refrain.curl"
      thread.start()
    }

    private static let nothingLeft = TransportError(
      .unreachable, "No request can be sent: no descriptor or no memory is left.")

    func post(_ next: @escaping Work) {
      let isFirst = work.withLock { work in
        work.append(next)
        return work.count == 1
      }
      if isFirst { events.ring() }
    }
  }

  /// Runs libcurl on its thread: waits for sockets, for libcurl's timeout, and for work
  /// (libcurl-multi(3), curl_multi_socket_action(3)). No other thread calls libcurl. A round costs as
  /// much as the sockets that have something, however many others wait: curl_multi_poll(3) looks at
  /// all of them in each.
  final class CurlThread {
    let settings: CurlTransport.Settings
    let sockets = CurlSockets()
    /// Shares TLS sessions, which would otherwise belong to one handle.
    let share: UnsafeMutableRawPointer
    /// The logins that have to use Digest authentication, each with idle handles that can compute it
    /// without another challenge.
    var digests: [CurlLogin: [CurlHandle]] = [:]
    private let events: EventQueue
    private let multi: UnsafeMutableRawPointer
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
    init(
      _ settings: CurlTransport.Settings, _ events: EventQueue, multi: UnsafeMutableRawPointer,
      share: UnsafeMutableRawPointer
    ) {
      (self.settings, self.events, self.multi, self.share) = (settings, events, multi, share)
      refrain_curl_share(share, CURL_LOCK_DATA_SSL_SESSION)
      let context = Unmanaged.passUnretained(self).toOpaque()
      refrain_curl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
      refrain_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.mostIdle)
      refrain_curl_multi_set_socket_callback(
        multi,
        { _, socket, what, context, _ in
          (object(of: context) as CurlThread).events.watch(socket, what)
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

    /// Never returns.
    ///
    /// - Parameter work: returns what was posted since the last call.
    func run(_ work: () -> [CurlLoop.Work]) -> Never {
      while true {
        events.wait(within: waiting.isEmpty ? patience : 0) { act(on: $0, flags: $1) }
        for work in work() { work(self) }
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

    func begin(_ exchange: CurlExchange, retry: CurlTransfer.Retry? = nil) {
      guard !exchange.response.isOver else { return }
      guard let transfer = CurlTransfer(exchange, on: self, retry: retry),
        curl_multi_add_handle(multi, transfer.handle.pointer) == CURLM_OK
      else {
        return exchange.response.end(
          TransportError(.unreachable, "No request can be sent: no memory."))
      }
      transfers[ObjectIdentifier(exchange)] = transfer
    }

    /// There is room for the response's body.
    func goOn(_ exchange: CurlExchange) {
      guard let transfer = transfers[ObjectIdentifier(exchange)] else { return }
      let code = curl_easy_pause(transfer.handle.pointer, CURLPAUSE_CONT)
      // libcurl reports an end among the bytes that it held back only here. Without a connection,
      // before it and after the end, the call is refused.
      if ![CURLE_OK, CURLE_BAD_FUNCTION_ARGUMENT].contains(code) { finish(transfer, code) }
    }

    /// - Parameter part: the next one of the request's body, not empty; nil at its end.
    func upload(_ part: Data?, of exchange: CurlExchange) {
      transfers[ObjectIdentifier(exchange)]?.partCame(part)
      goOn(exchange)
    }

    func remove(_ exchange: CurlExchange) {
      guard let transfer = transfers.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
      curl_multi_remove_handle(multi, transfer.handle.pointer)
      guard let login = transfer.login, transfer.hasValidChallenge else { return }
      if digests[login] == nil { useDigest(for: login) }
      if let idle = digests[login], idle.count < 4 { digests[login] = idle + [transfer.handle] }
    }

    // MARK: What transfers report

    /// Records that the origin offers Digest, by a new challenge. Basic credentials are not sent again,
    /// unless there are 32 other such logins.
    func useDigest(for login: CurlLogin) {
      if digests.count >= 32, digests[login] == nil, let other = digests.keys.first {
        digests[other] = nil
      }
      digests[login] = []
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
      let (retry, error) = transfer.outcome(of: code)
      // Removing the handle invalidates the message.
      remove(transfer.exchange)
      if let retry {
        begin(transfer.exchange, retry: retry)
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
  }
#endif
