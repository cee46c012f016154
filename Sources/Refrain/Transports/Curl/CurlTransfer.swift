// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// libcurl's side of one exchange: its handle and its callbacks. Used on the thread of libcurl
  /// alone.
  final class CurlTransfer {
    /// How a request is sent.
    struct Attempt {
      /// Whether on a new connection: a kept one has just proved to be unusable.
      var usesNewConnection = false
      /// Whether libcurl answers the origin's challenge with Digest, in place of the request's
      /// Basic credentials.
      var usesDigest = false
      /// Whether a handle that knows an earlier challenge may be used.
      var usesKnownChallenge = true
    }

    let exchange: CurlExchange
    let attempt: Attempt
    let login: CurlLogin?
    /// The attempt that follows this one; nil if this is the last.
    private(set) var next: Attempt?
    private let owned: CurlHandle
    var handle: UnsafeMutableRawPointer { owned.pointer }
    /// Whether the handle knows an earlier challenge, which may be too old.
    private let knowsChallenge: Bool
    /// The proxy in use, if any.
    let proxy: CurlProxy?
    /// Lists that libcurl reads while the handle lives.
    private var lists: [UnsafeMutablePointer<curl_slist>] = []
    private let errorText: UnsafeMutablePointer<CChar>
    /// Whether memory was missing for some option: the request must not be sent.
    private(set) var isIncomplete = false

    private var headReader = CurlHeadReader()
    private var hasHead = false
    /// A 401 that is withheld until it is known whether libcurl sends the request again.
    private var refusal: CurlHeadReader.Head?
    /// The bytes of the body still to arrive, if libcurl does not know when it is whole.
    private var countdown: Int64?
    private var isAccepted = false
    /// The fault in the head for which the transfer was ended.
    private var fault: String?
    private let sockets: CurlSockets
    /// Whether a kept connection was refused because it has received something meanwhile.
    private var isUnusable = false
    /// errno(3) of the last socket that could not be opened, which libcurl does not learn.
    private var socketError = 0
    /// Whether a connection was refused because it would lead to a private address.
    private var isPrivate = false
    /// Called with each exchange whose reader must be woken once libcurl has handed over
    /// everything.
    private let onBytes: (CurlExchange) -> Void

    /// - Parameter known: a handle that knows an earlier challenge.
    /// - Returns: nil if there is no memory.
    init?(
      _ exchange: CurlExchange, _ attempt: Attempt, login: CurlLogin?, known: CurlHandle?,
      proxy: CurlProxy?, sockets: CurlSockets, onBytes: @escaping (CurlExchange) -> Void
    ) {
      guard let handle = known ?? CurlHandle() else { return nil }
      self.exchange = exchange
      self.attempt = attempt
      self.login = login
      owned = handle
      knowsChallenge = known != nil
      self.proxy = proxy
      self.sockets = sockets
      self.onBytes = onBytes
      errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
      // The handle may be used again.
      set(CURLOPT_ERRORBUFFER, nil)
      for list in lists { curl_slist_free_all(list) }
      errorText.deallocate()
    }

    // MARK: Its options

    /// Sets this object as libcurl's context, and its callbacks.
    func connectCallbacks() {
      let context = Unmanaged.passUnretained(self).toOpaque()
      set(CURLOPT_PRIVATE, context)
      set(CURLOPT_ERRORBUFFER, errorText)
      set(CURLOPT_HEADERDATA, context)
      refrain_curl_set_data_callback(handle, CURLOPT_HEADERFUNCTION) {
        bytes, size, count, context in
        CurlTransfer.at(context)?.readLine(
          UnsafeRawBufferPointer(start: bytes, count: size * count))
          ?? 0
      }
      set(CURLOPT_WRITEDATA, context)
      refrain_curl_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        CurlTransfer.at(context)?.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
          ?? 0
      }
      set(CURLOPT_OPENSOCKETDATA, context)
      refrain_curl_set_socket_opener(handle) { context, _, address in
        CurlTransfer.at(context)?.openSocket(address) ?? curl_socket_t(CURL_SOCKET_BAD)
      }
      // Beyond this object's life: connections of earlier transfers are closed later.
      set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(sockets).toOpaque())
      refrain_curl_set_socket_closer(handle) { context, socket in
        context.map { Unmanaged<CurlSockets>.fromOpaque($0).takeUnretainedValue() }?
          .remove(socket) ?? close(socket)
      }
      set(CURLOPT_PREREQDATA, context)
      refrain_curl_set_connected_callback(handle) { context, address, local, _, localPort in
        guard let transfer = CurlTransfer.at(context) else { return Int32(CURL_PREREQFUNC_ABORT) }
        let mayContinue = transfer.connected(
          to: address.map { String(cString: $0) } ?? "",
          from: local.map { String(cString: $0) } ?? "", Int(localPort))
        return Int32(mayContinue ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
      }
      guard exchange.upload != nil else { return }
      set(CURLOPT_READDATA, context)
      refrain_curl_set_data_callback(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
        CurlTransfer.at(context)?.give(
          UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
          ?? Int(CURL_READFUNC_ABORT)
      }
    }

    func set(_ option: CURLoption, _ value: Int) {
      refrain_curl_set_long(handle, option, value)
    }

    func set(_ option: CURLoption, _ text: String) {
      refrain_curl_set_text(handle, option, text)
    }

    /// - Parameter bytes: without zeros.
    func set(_ option: CURLoption, _ bytes: [UInt8]) {
      (bytes + [0]).withUnsafeBytes {
        _ = refrain_curl_set_text(handle, option, $0.bindMemory(to: CChar.self).baseAddress)
      }
    }

    func set(_ option: CURLoption, _ pointer: UnsafeMutableRawPointer?) {
      refrain_curl_set_pointer(handle, option, pointer)
    }

    func set(_ option: CURLoption, list texts: [String]) {
      var list: UnsafeMutablePointer<curl_slist>?
      for text in texts {
        guard let longer = curl_slist_append(list, text) else {
          // Without one of its header fields it would be another request.
          isIncomplete = true
          break
        }
        list = longer
      }
      guard let list else { return }
      lists.append(list)
      refrain_curl_set_list(handle, option, list)
    }

    // MARK: What libcurl calls

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
      context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns the object of a libcurl handle.
    static func of(_ handle: UnsafeMutableRawPointer) -> CurlTransfer? {
      at(refrain_curl_get_private(handle))
    }

    private func openSocket(_ address: UnsafePointer<curl_sockaddr>?) -> curl_socket_t {
      guard let address else { return curl_socket_t(CURL_SOCKET_BAD) }
      if requiresPublicAddress, Self.isPrivate(address) {
        isPrivate = true
        return curl_socket_t(CURL_SOCKET_BAD)
      }
      let socket = sockets.add(for: address.pointee)
      if socket == CURL_SOCKET_BAD { socketError = Int(errno) }
      return socket
    }

    /// Whether an address is in a private network (sockaddr_in(3type), sockaddr_in6(3type)).
    private static func isPrivate(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
      let bytes = UnsafeRawBufferPointer(
        start: refrain_curl_address(address), count: Int(address.pointee.addrlen))
      let found: NetworkAddress? =
        switch (address.pointee.family, bytes.count) {
        case (AF_INET, 8...): NetworkAddress(bytes: Array(bytes[4..<8]))
        case (AF_INET6, 24...): NetworkAddress(bytes: Array(bytes[8..<24]))
        default: nil
        }
      return found?.isPrivate ?? true
    }

    /// Whether the host's name must not lead to a private address. With a proxy, the proxy resolves
    /// the name.
    private var requiresPublicAddress: Bool {
      exchange.request.requiresPublicAddress && proxy == nil
    }

    /// Called when the request is about to be sent.
    ///
    /// - Parameters:
    ///   - text: the address of the host.
    ///   - local: the address of this end.
    ///   - port: the port of this end.
    /// - Returns: whether the request may be sent: a kept connection may lead to a private address,
    ///   or be unusable.
    private func connected(to text: String, from local: String, _ port: Int) -> Bool {
      if isKept, sockets.hasInput(at: local, port: port) {
        isUnusable = true
        return false
      }
      if requiresPublicAddress, NetworkAddress(text.prefix { $0 != "%" })?.isPrivate ?? true {
        isPrivate = true
        return false
      }
      return true
    }

    /// Whether the request goes over a connection of an earlier one.
    private var isKept: Bool { long(CURLINFO_NUM_CONNECTS) == 0 }

    private func readLine(_ line: UnsafeRawBufferPointer) -> Int {
      if refusal != nil {
        // Trailers of its body may follow a refusal, too.
        guard line.starts(with: "HTTP/".utf8) else { return line.count }
        refusal = nil
        headReader = CurlHeadReader()
      }
      switch headReader.read(line) {
      case .incomplete: break
      case .interim(let head): exchange.request.onInterim?(head.status, head.headers)
      case .head(let head):
        guard received(head) else { return 0 }
      case .malformed(let what):
        fault = what
        return 0
      }
      return line.count
    }

    /// - Returns: false if the transfer ends here.
    private func received(_ head: CurlHeadReader.Head) -> Bool {
      guard head.status == 401, login != nil else { return pass(head) }
      if attempt.usesDigest {
        refusal = head
        return true
      }
      guard exchange.upload == nil, Challenges.offerDigest(head.headers) else { return pass(head) }
      next = attempt
      next?.usesDigest = true
      return false
    }

    private func pass(_ head: CurlHeadReader.Head) -> Bool {
      hasHead = true
      isAccepted = head.status != 401
      exchange.received(head)
      let hasBody = exchange.request.method != "HEAD" && ![204, 304].contains(head.status)
      countdown = hasBody ? head.countedLength : nil
      return countdown != 0
    }

    /// Passes a withheld 401 on, which libcurl does not answer.
    ///
    /// - Returns: false if the request is sent again with a new challenge: this one may have
    ///   expired, which not every origin says (RFC 7616 §3.3, `stale`).
    private func passRefusal() -> Bool {
      guard let head = refusal.take() else { return true }
      guard knowsChallenge else { return pass(head) }
      next = attempt
      next?.usesKnownChallenge = false
      return false
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard passRefusal() else { return 0 }
      let wanted = bytes.prefix(Int(clamping: countdown ?? .max))
      guard exchange.take(UnsafeRawBufferPointer(rebasing: wanted)) else {
        return Int(CURL_WRITEFUNC_PAUSE)
      }
      onBytes(exchange)
      countdown? -= Int64(wanted.count)
      // The connection may go on with anything.
      return countdown == 0 ? 0 : bytes.count
    }

    private func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
      exchange.upload?.read(into: buffer) ?? Int(CURL_READFUNC_PAUSE)
    }

    // MARK: Its end

    /// Called when libcurl has ended the transfer, before `next` and `error(for:)`.
    func ended(_ code: CURLcode) {
      if code == CURLE_OK { _ = passRefusal() }
      if isUnusable || hasReadForeignBytes(code) {
        next = attempt
        next?.usesNewConnection = true
      }
    }

    /// Whether what was read on a kept connection may follow an earlier response that was longer
    /// than its Content-Length, so that the request has to be sent again (RFC 9112 §9.3.1).
    private func hasReadForeignBytes(_ code: CURLcode) -> Bool {
      guard !hasHead, !attempt.usesNewConnection, exchange.request.isIdempotent else {
        return false
      }
      return isKept
        && (fault != nil || [CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY].contains(code))
    }

    /// The handle, if its challenge was answered and another request can use it.
    var handleToKeep: CurlHandle? {
      attempt.usesDigest && isAccepted && exchange.request.method == "GET"
        && exchange.upload == nil ? owned : nil
    }

    /// - Returns: why the response is not whole; nil if it is.
    func error(for code: CURLcode) -> TransportError? {
      if countdown == 0 { return nil }
      let code = code == CURLE_OK && countdown != nil ? CURLE_PARTIAL_FILE : code
      let host = exchange.request.url.host() ?? ""
      if isPrivate, [CURLE_COULDNT_CONNECT, CURLE_ABORTED_BY_CALLBACK].contains(code) {
        return TransportError(
          .badURL, "The name \(host) leads to an address of a private network.",
          cause: .privateAddress)
      }
      var text = String(cString: errorText)
      // The message may contain the proxy's URL, with the password.
      if let proxy { text = text.replacing(proxy.url, with: proxy.name) }
      let systemError = long(CURLINFO_OS_ERRNO)
      return CurlFailure(
        host: host, proxy: proxy?.name, code: code, text: text,
        systemError: systemError == 0 ? socketError : systemError,
        proxyStatus: long(CURLINFO_HTTP_CONNECTCODE), hasConnected: hasConnected, hasHead: hasHead,
        fault: fault
      ).error
    }

    private var hasConnected: Bool {
      var time: curl_off_t = 0
      refrain_curl_get_offset(handle, CURLINFO_CONNECT_TIME_T, &time)
      return time > 0
    }

    private func long(_ info: CURLINFO) -> Int {
      var value = 0
      refrain_curl_get_long(handle, info, &value)
      return value
    }
  }
#endif
