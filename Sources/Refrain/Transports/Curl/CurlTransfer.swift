// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation
  import RefrainLocks

  /// One request over libcurl, and its response. Once its chunks are full, libcurl stops reading
  /// from the connection until one of them is taken.
  final class CurlExchange: TransportExchange {
    let request: OriginRequest
    let response = ResponseBuffer()
    private let thread: CurlThread

    init(_ request: OriginRequest, on thread: CurlThread) {
      self.request = request
      self.thread = thread
      thread.exchanges.add(1, ordering: .relaxed)
    }

    deinit { thread.exchanges.subtract(1, ordering: .relaxed) }

    func start() { thread.post { [self] in $0.begin(self) } }

    func goOn() { thread.post { [self] in $0.goOn(self) } }

    func abandon() { thread.post { [self] in $0.remove(self) } }

    /// The bytes that libcurl passes on at most at once (`CURL_MAX_WRITE_SIZE`).
    fileprivate static let mostAtOnce = 16 << 10

    /// Returns how many chunks an exchange buffers, and the bytes above which one takes no more:
    /// below, it takes whatever comes at once. Where exchanges are few, one is filled while the
    /// task stores another. A killed process loses a chunk of each exchange: of five that start at
    /// the worst moments, less than 256 KiB.
    static func limits(exchanges: Int) -> (chunks: Int, full: Int) {
      let share = (96 << 10) / max(1, exchanges) - mostAtOnce
      return (exchanges > 2 ? 1 : 2, max(mostAtOnce / 2, min(48 << 10, share)))
    }

    var limits: (chunks: Int, full: Int) {
      Self.limits(exchanges: thread.exchanges.load(ordering: .relaxed))
    }

    /// The size of libcurl's own buffer: whole pieces, as it would keep a copy of the rest of one.
    var readSize: Int {
      if thread.exchanges.load(ordering: .relaxed) > 128 { return Self.mostAtOnce / 2 }
      return limits.full / Self.mostAtOnce * Self.mostAtOnce + Self.mostAtOnce
    }
  }

  /// One attempt at an exchange. Used on libcurl's thread alone.
  final class CurlTransfer {
    let exchange: CurlExchange
    unowned let thread: CurlThread
    /// libcurl's handle, and the memory that it uses.
    let pointer: UnsafeMutableRawPointer
    var lists: [UnsafeMutablePointer<curl_slist>?] = []
    let errorText: UnsafeMutablePointer<CChar>
    let proxy: String?
    private let host: String
    /// Whether an earlier attempt has proved a kept connection unusable, or Basic credentials.
    let isRepeated: Bool
    /// Nil: none, or that of `CurlTransport.Settings.credentialsFile`.
    let password: UserPassword?
    /// The origin of a request with a user and password.
    private let login: WebOrigin?
    let usesDigest: Bool
    private let requiresPublicAddress: Bool

    /// What libcurl has not taken yet of a part of the request's body, and the task for the next
    /// one.
    private var part = Data()
    private var nextPart: Task<Void, Never>?
    /// The bytes of the parts that have not come yet.
    private var missing: Int64
    private var headReader: CurlHeadReader
    /// Whether a head has been passed on.
    private var hasHead = false
    /// A 401 that is withheld until it is known whether libcurl sends the request again.
    private var refusal: CurlHeadReader.Head?
    /// The bytes of the body received so far, and those announced.
    private var received: Int64 = 0
    private var length: Int64?
    /// The announced length, if libcurl does not know when the body is whole.
    private var counted: Int64?
    /// Why the transfer was ended here, or a connection refused.
    private var fault: TransportError?
    private var needsRepetition = false

    init?(_ exchange: CurlExchange, on thread: CurlThread, isRepeated: Bool) {
      guard let pointer = curl_easy_init() else { return nil }
      (self.exchange, self.thread, self.pointer) = (exchange, thread, pointer)
      errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
      self.isRepeated = isRepeated
      proxy = thread.settings.proxies.proxy(for: exchange.request.url)
      // A proxy resolves the name itself.
      requiresPublicAddress = exchange.request.requiresPublicAddress && proxy == nil
      let authorization = exchange.request.headers["Authorization"]
      password = UserPassword(authorization: authorization)
      let isStored = authorization == nil && thread.settings.credentialsFile != nil
      login = password != nil || isStored ? WebOrigin(exchange.request.url) : nil
      usesDigest = login.map(thread.digests.contains) ?? false
      host = (exchange.request.url.host() ?? "") + (proxy == nil ? "" : " (through a proxy)")
      headReader = CurlHeadReader(host: host)
      missing = exchange.request.body?.length ?? 0
      awaitPart()
      setOptions()
    }

    deinit {
      nextPart?.cancel()
      curl_easy_cleanup(pointer)
      for list in lists { curl_slist_free_all(list) }
      errorText.deallocate()
    }

    // MARK: The connection

    func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
      if requiresPublicAddress, refuses(String(cString: refrain_curl_address(address))) {
        return curl_socket_t(CURL_SOCKET_BAD)
      }
      let socket = thread.openSocket(address.pointee)
      if socket == CURL_SOCKET_BAD {
        fault = .unreachable(host, "could not be connected to: \(String(cString: strerror(errno)))")
      }
      return socket
    }

    /// - Parameter address: may have a zone (`%eth0`).
    private func refuses(_ address: String) -> Bool {
      let isPrivate = NetworkAddress(host: address.prefix { $0 != "%" })?.isPrivate
      guard isPrivate ?? true else { return false }
      fault = TransportError(
        .badURL, "The name \(host) leads to an address of a private network.",
        cause: .privateAddress)
      return true
    }

    /// Returns whether the request may be sent: a kept connection may lead to a private address, or
    /// be unusable.
    func connected(to text: String, from port: Int32) -> Bool {
      fault = nil
      needsRepetition = isKept && thread.hasInput(atPort: port)
      return !needsRepetition && !(requiresPublicAddress && refuses(text))
    }

    /// Whether the request goes over a connection of an earlier one.
    private var isKept: Bool { refrain_curl_get_long(pointer, CURLINFO_NUM_CONNECTS) == 0 }

    // MARK: The request and its response

    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
      guard !part.isEmpty else { return Int(CURL_READFUNC_PAUSE) }
      let count = part.copyBytes(to: buffer)
      part = part.dropFirst(count)
      if part.isEmpty { awaitPart() }
      return count
    }

    private func awaitPart() {
      guard missing > 0, let body = exchange.request.body else { return }
      nextPart = Task { [exchange, thread] in
        do {
          let part = try await body.next()
          thread.post { $0.upload(part, of: exchange) }
        } catch {
          // The transfer is over if this is cancelled, and may just be ending the response
          // properly.
          if !Task.isCancelled { exchange.end(with: error) }
        }
      }
    }

    func partCame(_ next: Data) {
      part = next
      missing -= Int64(next.count)
    }

    func readLine(_ line: UnsafeRawBufferPointer) -> Int {
      if refusal != nil, line.starts(with: "HTTP/".utf8) { refusal = nil }
      // Trailers may follow the body, also that of a refusal.
      guard !hasHead, refusal == nil else { return line.count }
      do throws(TransportError) {
        guard let head = try headReader.read(line) else { return line.count }
        if head.status >= 200 { return received(head) ? line.count : 0 }
        exchange.request.onInterim?(head.status, head.headers)
        return line.count
      } catch {
        fault = error
        return 0
      }
    }

    /// Returns false if the transfer ends here, as do the next functions.
    private func received(_ head: CurlHeadReader.Head) -> Bool {
      guard head.status == 401, let login,
        usesDigest || (exchange.request.body == nil && Challenges.offerDigest(head.headers))
      else { return pass(head) }
      if usesDigest {
        refusal = head
        return true
      }
      thread.useDigest(for: login)
      needsRepetition = true
      return false
    }

    private func pass(_ head: CurlHeadReader.Head) -> Bool {
      hasHead = true
      exchange.response.receive((head.status, head.headers, false))
      // Where the request's body has not ended, libcurl would wait for its next part forever.
      if exchange.request.body != nil { exchange.goOn() }
      length = head.headers.bodyLength
      let hasBody = exchange.request.method != "HEAD" && ![204, 304].contains(head.status)
      counted = head.isCounted && hasBody ? length : nil
      return !isCountedWhole
    }

    /// Whether all of a body has arrived whose end libcurl would wait for.
    private var isCountedWhole: Bool { counted == received }

    /// Passes a withheld 401 on, which libcurl does not answer.
    private func passRefusal() -> Bool { refusal.take().map(pass) ?? true }

    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard passRefusal() else { return 0 }
      let rest = counted.map { Int(clamping: $0 - received) } ?? .max
      guard let stops = buffer(.init(rebasing: bytes.prefix(rest))) else {
        return Int(CURL_WRITEFUNC_PAUSE)
      }
      thread.received(by: exchange)
      // Before libcurl reads more, which it would keep in a copy of its own. With one direction
      // paused, it reads once more all the same (7.88).
      if stops { curl_easy_pause(pointer, CURLPAUSE_ALL) }
      return isCountedWhole ? 0 : bytes.count
    }

    /// Adds bytes to the last chunk, or to a new one, and wakes the task for a full one. Returns
    /// whether libcurl must stop until `goOn`; nil if it must pass the bytes again then.
    private func buffer(_ bytes: UnsafeRawBufferPointer) -> Bool? {
      exchange.response.change { state in
        // Bytes after the stop are discarded until the thread learns of it.
        guard state.end == nil, !bytes.isEmpty else { return (false, wakes: false) }
        let limits = exchange.limits
        if state.chunks.last.map({ $0.count > limits.full }) ?? true {
          guard state.chunks.count < limits.chunks else {
            state.isPaused = true
            return (nil, wakes: true)
          }
          let rest = length.map { Int(clamping: $0 - received) } ?? .max
          // The most that it may become: malloc(3) returns what is too much to the system each time.
          let most = limits.full + min(limits.full, CurlExchange.mostAtOnce)
          state.chunks.append(Data(capacity: max(bytes.count, min(most, rest))))
        }
        let last = state.chunks.count - 1
        state.chunks[last].append(contentsOf: bytes)
        received += Int64(bytes.count)
        let isFull = state.chunks[last].count > limits.full
        // Where exchanges are few, libcurl's copy is a further buffer. Of a chunked body, one read
        // is passed on in pieces. A request may still be sending its body.
        let stops =
          isFull && limits.chunks == 1 && received < length ?? 0 && exchange.request.body == nil
        if stops { state.isPaused = true }
        return (stops, wakes: last > 0 || isFull)
      }
    }

    // MARK: Its end

    /// Returns whether another attempt follows, and why the response is not whole.
    func outcome(of code: CURLcode) -> (isRepeated: Bool, error: TransportError?) {
      if code == CURLE_OK { _ = passRefusal() }
      // What was read on a kept connection instead of a head, which ends in an error of libcurl or
      // of `readLine`, may belong to an earlier response (RFC 9112 §9.3.1).
      let isForeign =
        !hasHead && !isRepeated && isKept && isIdempotent
        && [CURLE_WRITE_ERROR, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY].contains(code)
      return (needsRepetition || isForeign, error(for: code))
    }

    /// Whether the request may be sent again if a kept connection was closed (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
      exchange.request.body == nil
        && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(exchange.request.method)
    }

    private func error(for code: CURLcode) -> TransportError? {
      if isCountedWhole { return nil }
      // That of one address does not hide what is wrong with the certificate of the next.
      if let fault, code != CURLE_PEER_FAILED_VERIFICATION { return fault }
      // The message may contain the proxy's URL, with the password.
      let message = String(cString: errorText)
      let text = proxy.map { message.replacing($0, with: "the proxy") } ?? message
      return .curl(
        code == CURLE_OK && counted != nil ? CURLE_PARTIAL_FILE : code, text, host: host,
        systemError: refrain_curl_get_long(pointer, CURLINFO_OS_ERRNO), hasHead: hasHead)
    }
  }
#endif
