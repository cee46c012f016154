// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation
  import RefrainLocks

  /// One request over libcurl, and its response. The body's bytes are buffered in chunks: once
  /// these are full, libcurl stops reading from the connection until one of them is taken.
  final class CurlExchange: TransportExchange {
    let request: OriginRequest
    let response = ResponseBuffer()
    private let loop: CurlLoop

    init(_ request: OriginRequest, on loop: CurlLoop) {
      self.request = request
      self.loop = loop
      loop.exchanges.add(1, ordering: .relaxed)
    }

    deinit { loop.exchanges.subtract(1, ordering: .relaxed) }

    func send() async throws -> OriginResponse {
      try Task.checkCancellation()
      loop.post { [self] in $0.begin(self) }
      var received = try await head()
      received.hasMore = { [response] in !response.isEmpty }
      return received
    }

    func goOn() { loop.post { [self] in $0.goOn(self) } }

    func abandon() { loop.post { [self] in $0.remove(self) } }

    func bringPart() async {
      guard let body = request.body else { return }
      do {
        let part = try await body.next()
        loop.post { [self] in $0.upload(part, of: self) }
      } catch {
        // The transfer is over if this is cancelled, and may just be ending the response properly.
        if !Task.isCancelled { end(with: error) }
      }
    }

    /// The bytes that libcurl passes on at most at once (`CURL_MAX_WRITE_SIZE`).
    private static let mostAtOnce = 16 << 10

    /// Returns how many chunks an exchange buffers, and about how many bytes in each. While the
    /// task stores one, another is filled: where exchanges are few, libcurl need not stop for each
    /// chunk. A killed process loses what was passed on but is not stored yet: a chunk of each
    /// exchange. Five exchanges that start at the worst moments stay below 256 KiB.
    static func limits(exchanges: Int) -> (chunks: Int, bytes: Int) {
      (exchanges > 2 ? 1 : 2, max(mostAtOnce, min(64 << 10, (96 << 10) / max(1, exchanges))))
    }

    /// The bytes above which a chunk takes no more. A chunk below takes whatever comes at once, so that
    /// it becomes longer than its limit only if that is short, and 24 KiB at most.
    static func fullChunk(of limit: Int) -> Int { max(limit - mostAtOnce, mostAtOnce / 2) }

    /// The size of libcurl's own buffer, which each transfer has: one read of the socket takes no more
    /// than is passed on.
    var readSize: Int {
      if loop.exchanges.load(ordering: .relaxed) > 128 { return Self.mostAtOnce / 2 }
      // Whole pieces: of a read that ends in a part of one, libcurl would keep a copy.
      return limits.bytes / Self.mostAtOnce * Self.mostAtOnce
    }

    var limits: (chunks: Int, bytes: Int) {
      Self.limits(exchanges: loop.exchanges.load(ordering: .relaxed))
    }
  }

  /// One attempt at an exchange: a transfer of libcurl. Used on libcurl's thread alone.
  final class CurlTransfer {
    let exchange: CurlExchange
    unowned let thread: CurlThread
    /// libcurl's handle, and the memory that it uses.
    let pointer: UnsafeMutableRawPointer
    var lists: [UnsafeMutablePointer<curl_slist>?] = []
    let errorText: UnsafeMutablePointer<CChar>
    let proxy: String?
    /// The requested host, and the proxy on the way to it.
    private let host: String
    /// Whether an earlier attempt has proved a kept connection unusable, or Basic credentials.
    let isRepeated: Bool
    /// Nil: none, or that of `CurlTransport.Settings.credentialsFile`.
    let password: UserPassword?
    /// The origin of a request with a user and password.
    private let login: WebOrigin?
    /// Of this attempt, and of the one that follows it.
    private(set) var usesDigest: Bool

    /// What libcurl has not taken yet of a part of the request's body.
    private var part = Data()
    /// Brings the next part.
    private var nextPart: Task<Void, Never>?
    /// The bytes of the parts that have not come yet.
    private var missing: Int64
    private var headReader: CurlHeadReader
    /// The status of the response, once its head has been passed on.
    private var status: Int?
    /// A 401 that is withheld until it is known whether libcurl sends the request again.
    private var refusal: CurlHeadReader.Head?
    /// The bytes of the body received so far, and those announced.
    private var received: Int64 = 0
    private var length: Int64?
    /// Whether libcurl does not know when the body is whole.
    private var countsLength = false
    /// The bytes at which the chunk that is being filled takes no more.
    private var fullChunk = 0
    /// The fault in the head for which the transfer was ended.
    private var fault: TransportError?
    private var hasPrivateAddress = false
    /// errno(3) of the last socket that could not be opened, which libcurl does not learn.
    private var socketError: Int32 = 0
    private var needsRepetition = false

    /// - Returns: nil if libcurl cannot be used.
    init?(_ exchange: CurlExchange, on thread: CurlThread, isRepeated: Bool, usesDigest: Bool) {
      guard let pointer = curl_easy_init() else { return nil }
      self.exchange = exchange
      self.thread = thread
      self.pointer = pointer
      errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
      self.isRepeated = isRepeated
      proxy = thread.settings.proxies.proxy(for: exchange.request.url)
      let authorization = exchange.request.headers["Authorization"]
      password = UserPassword(authorization: authorization)
      let isStored = authorization == nil && thread.settings.credentialsFile != nil
      login = password != nil || isStored ? WebOrigin(exchange.request.url) : nil
      self.usesDigest = usesDigest || login.map(thread.digests.contains) ?? false
      let name = exchange.request.url.host() ?? ""
      host =
        proxy.map { "\(name) (through the proxy \(ProxyEnvironment.name(of: $0)))" } ?? name
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
      if requiresPublicAddress, Self.isPrivate(address) {
        hasPrivateAddress = true
        return curl_socket_t(CURL_SOCKET_BAD)
      }
      let socket = thread.openSocket(address.pointee)
      if socket == CURL_SOCKET_BAD { socketError = errno }
      return socket
    }

    /// Whether an address is in a private network (sockaddr_in(3type), sockaddr_in6(3type)).
    private static func isPrivate(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
      let bytes = UnsafeRawBufferPointer(
        start: refrain_curl_address(address), count: Int(address.pointee.addrlen))
      return switch (address.pointee.family, bytes.count) {
      case (AF_INET, 8...): NetworkAddress(bytes: Array(bytes[4..<8])).isPrivate
      case (AF_INET6, 24...): NetworkAddress(bytes: Array(bytes[8..<24])).isPrivate
      default: true
      }
    }

    /// With a proxy, the proxy resolves the name.
    private var requiresPublicAddress: Bool {
      exchange.request.requiresPublicAddress && proxy == nil
    }

    /// Returns whether the request may be sent over a connection: a kept one may lead to a private
    /// address, or be unusable.
    func connected(to text: String, from port: Int) -> Bool {
      if isKept, thread.hasInput(atPort: port) {
        needsRepetition = true
      } else if requiresPublicAddress,
        NetworkAddress(host: text.prefix { $0 != "%" })?.isPrivate ?? true
      {
        hasPrivateAddress = true
      } else {
        return true
      }
      return false
    }

    /// Whether the request goes over a connection of an earlier one.
    private var isKept: Bool { long(CURLINFO_NUM_CONNECTS) == 0 }

    // MARK: The request and its response

    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
      guard !part.isEmpty else { return Int(CURL_READFUNC_PAUSE) }
      let count = part.copyBytes(to: buffer)
      part = part.dropFirst(count)
      if part.isEmpty { awaitPart() }
      return count
    }

    private func awaitPart() {
      guard missing > 0 else { return }
      nextPart = Task { [exchange] in await exchange.bringPart() }
    }

    func partCame(_ next: Data) {
      part = next
      missing -= Int64(next.count)
    }

    func readLine(_ line: UnsafeRawBufferPointer) -> Int {
      if refusal != nil, line.starts(with: "HTTP/".utf8) { refusal = nil }
      // Trailers may follow the body, also that of a refusal.
      guard status == nil, refusal == nil else { return line.count }
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
      usesDigest = true
      needsRepetition = true
      return false
    }

    private func pass(_ head: CurlHeadReader.Head) -> Bool {
      status = head.status
      exchange.response.receive((head.status, head.headers, false))
      // After a response that precedes the end of the request's body, libcurl stops sending it, but
      // would wait forever for its next part.
      if exchange.request.body != nil { exchange.goOn() }
      length = head.headers.bodyLength
      countsLength =
        head.isCounted && exchange.request.method != "HEAD" && ![204, 304].contains(head.status)
      return !isCountedWhole
    }

    /// Whether all of a body has arrived whose end libcurl would wait for. The connection may go on
    /// with anything.
    private var isCountedWhole: Bool { countsLength && received == length }

    /// Passes a withheld 401 on, which libcurl does not answer.
    private func passRefusal() -> Bool { refusal.take().map(pass) ?? true }

    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard passRefusal() else { return 0 }
      let rest = countsLength ? length.map { Int(clamping: $0 - received) } : nil
      let wanted = UnsafeRawBufferPointer(rebasing: bytes.prefix(rest ?? .max))
      guard let stops = buffer(wanted) else { return Int(CURL_WRITEFUNC_PAUSE) }
      thread.received(by: exchange)
      // Stops before libcurl reads more, which it would keep in a copy of its own. Both directions:
      // where one is paused alone, libcurl reads once more all the same (7.88).
      if stops { curl_easy_pause(pointer, CURLPAUSE_ALL) }
      return isCountedWhole ? 0 : bytes.count
    }

    /// Before this many bytes, the reader may well seek, and buffered bytes would be wasted.
    private static let beginning: Int64 = 512 << 10

    /// Adds bytes to the last chunk, or to a new one, and wakes the task for a full one: waking it
    /// costs as much as receiving one. Returns whether libcurl must stop until `goOn`; nil if it
    /// must pass the bytes again then.
    private func buffer(_ bytes: UnsafeRawBufferPointer) -> Bool? {
      exchange.response.change { state in
        // Bytes after the stop are discarded until the thread learns of it.
        guard state.end == nil, !bytes.isEmpty else { return (false, wakes: false) }
        let limits = exchange.limits
        if let last = state.chunks.indices.last, state.chunks[last].count <= fullChunk {
          state.chunks[last].append(contentsOf: bytes)
        } else {
          guard state.chunks.count < (received < Self.beginning ? 1 : limits.chunks) else {
            state.isPaused = true
            return (nil, wakes: true)
          }
          fullChunk = CurlExchange.fullChunk(of: limits.bytes)
          let rest = length.map { Int(clamping: $0 - received) } ?? .max
          var chunk = Data()
          chunk.reserveCapacity(max(bytes.count, min(limits.bytes, rest)))
          chunk.append(contentsOf: bytes)
          state.chunks.append(chunk)
        }
        received += Int64(bytes.count)
        let count = state.chunks.count
        let isFull = state.chunks[count - 1].count > fullChunk
        // Where exchanges are few, libcurl's copy is a further buffer. Of a chunked body, one read is
        // passed on in pieces. A request may still be sending its body.
        let stops =
          isFull && limits.chunks == 1 && length.map { received < $0 } == true
          && exchange.request.body == nil
        if stops { state.isPaused = true }
        return (stops, wakes: count > 1 || isFull)
      }
    }

    // MARK: Its end

    /// Returns whether another attempt follows an ended one, and why the response is not whole.
    func outcome(of code: CURLcode) -> (isRepeated: Bool, error: TransportError?) {
      if code == CURLE_OK { _ = passRefusal() }
      return (needsRepetition || hasReadForeignBytes(code), error(for: code))
    }

    /// Whether what was read on a kept connection may follow an earlier response that was longer
    /// than its Content-Length, so that the request has to be sent again (RFC 9112 §9.3.1).
    private func hasReadForeignBytes(_ code: CURLcode) -> Bool {
      guard status == nil, !isRepeated, isKept, exchange.request.isIdempotent else { return false }
      return fault != nil || [CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY].contains(code)
    }

    private func error(for code: CURLcode) -> TransportError? {
      if isCountedWhole { return nil }
      if let fault { return fault }
      if hasPrivateAddress, [CURLE_COULDNT_CONNECT, CURLE_ABORTED_BY_CALLBACK].contains(code) {
        return TransportError(
          .badURL, "The name \(host) leads to an address of a private network.",
          cause: .privateAddress)
      }
      // The message may contain the proxy's URL, with the password.
      let message = String(cString: errorText)
      let text = proxy.map { message.replacing($0, with: ProxyEnvironment.name(of: $0)) } ?? message
      let systemError = Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO))
      return .curl(
        code == CURLE_OK && countsLength ? CURLE_PARTIAL_FILE : code, text, host: host,
        systemError: systemError == 0 ? socketError : systemError,
        hasHead: status != nil)
    }
  }

  extension OriginRequest {
    /// Whether the request may be sent again if a kept connection was closed (RFC 9110 §9.2.2).
    var isIdempotent: Bool {
      body == nil && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }
  }
#endif
