// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// Returns the object that libcurl was given as a context, which somebody else retains.
  func object<Object: AnyObject>(of context: UnsafeMutableRawPointer?) -> Object {
    Unmanaged<Object>.fromOpaque(context!).takeUnretainedValue()
  }

  private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer { object(of: context) }

  /// The options of libcurl's handle, set in this file alone: the compiler cannot check which option
  /// requires which type.
  extension CurlTransfer {
    func setOptions() {
      setRequest(exchange.request)
      setConnection(thread.settings)
      setCredentials(thread.settings)
      set(CURLOPT_BUFFERSIZE, exchange.readSize)
      set(CURLOPT_SHARE, thread.share)
      set(CURLOPT_ERRORBUFFER, errorText)
      setCallbacks()
    }

    private func setCallbacks() {
      let context = Unmanaged.passUnretained(self).toOpaque()
      for option in [
        CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA,
        CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA,
      ] {
        set(option, context)
      }
      set(CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        transfer(context).readLine(.init(start: bytes, count: size * count))
      }
      set(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        transfer(context).take(.init(start: bytes, count: size * count))
      }
      set(CURLOPT_READFUNCTION) { bytes, size, count, context in
        transfer(context).give(.init(start: bytes, count: size * count))
      }
      refrain_curl_set_socket_opener(pointer) { context, _, address in
        transfer(context).openSocket(address!)
      }
      refrain_curl_set_connected_callback(pointer) { context, address, _, _, localPort in
        let mayContinue = transfer(context).connected(
          to: String(cString: address!), from: Int(localPort))
        return Int32(mayContinue ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
      }
      // Beyond this object's life: connections of earlier transfers are closed later.
      set(CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(thread).toOpaque())
      refrain_curl_set_socket_closer(pointer) { context, socket in
        (object(of: context) as CurlThread).closeSocket(socket)
      }
    }

    private func setRequest(_ request: OriginRequest) {
      // The caller handles a user and password in the URL.
      set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
      set(CURLOPT_URL, request.url.withoutUserInfo.absoluteString)
      // Verbatim: the signature of a signed URL covers its spelling.
      set(CURLOPT_PATH_AS_IS, 1)
      // Digest covers the target that libcurl itself makes of the URL (RFC 7616 §3.4.6). It writes
      // the one for a proxy of HTTP, too, which has scheme and host (RFC 9112 §3.2.2).
      let isForProxy =
        request.url.scheme?.lowercased() == "http"
        && proxy?.lowercased().hasPrefix("socks") == false
      if !usesDigest, !isForProxy, let parts = WebURL(request.url.absoluteString) {
        set(CURLOPT_REQUEST_TARGET, parts.requestTarget)
      }
      if let body = request.body {
        set(CURLOPT_UPLOAD, 1)
        refrain_curl_set_offset(pointer, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.length))
      }
      switch request.method {
      case "GET" where request.body == nil: break
      case "HEAD" where request.body == nil: set(CURLOPT_NOBODY, 1)
      default: set(CURLOPT_CUSTOMREQUEST, request.method)
      }
      set(CURLOPT_HTTPHEADER, list: headerLines(request))
      set(CURLOPT_HTTP_CONTENT_DECODING, 0)
      set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      // SHOUTcast's status line.
      set(CURLOPT_HTTP200ALIASES, list: ["ICY "])
      if let silence = request.longestSilence {
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, Int(silence.components.seconds))
      }
    }

    /// The request's own header lines, without those that libcurl adds.
    private func headerLines(_ request: OriginRequest) -> [String] {
      var fields = request.headers
      if usesDigest { fields["Authorization"] = nil }
      var lines = fields.fields.map { field in
        // libcurl's form of an empty field.
        field.value.trimmingOWS.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
      }
      for name in ["Accept", "Expect", "User-Agent"] where request.headers[name] == nil {
        lines.append("\(name):")
      }
      return lines
    }

    private func setConnection(_ settings: CurlTransport.Settings) {
      set(CURLOPT_NOSIGNAL, 1)
      // Over HTTP/2, bytes that one reader leaves unread would block all others, or be buffered.
      set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
      // For DNS, the connection, the proxy and TLS.
      set(CURLOPT_CONNECTTIMEOUT, 10)
      refrain_curl_quick_exit(pointer)
      // A kept connection may just be closing, and libcurl would resend a request that may have
      // been carried out already.
      if isRepeated || !exchange.request.isIdempotent { set(CURLOPT_FRESH_CONNECT, 1) }
      // Both are set, so that libcurl itself never reads the environment.
      set(CURLOPT_PROXY, proxy ?? "")
      set(CURLOPT_NOPROXY, "")
      if let name = settings.networkInterface { set(CURLOPT_INTERFACE, name) }
      set(CURLOPT_RESOLVE, list: settings.addresses)
      set(CURLOPT_SSL_VERIFYPEER, settings.verifiesCertificates ? 1 : 0)
      set(CURLOPT_SSL_VERIFYHOST, settings.verifiesCertificates ? 2 : 0)
      if let path = settings.certificateFile { set(CURLOPT_CAINFO, path) }
      if let path = settings.certificateDirectory { set(CURLOPT_CAPATH, path) }
    }

    /// For Digest, lets libcurl answer a challenge: it sends the request without credentials, and
    /// again after the 401.
    private func setCredentials(_ settings: CurlTransport.Settings) {
      if usesDigest { set(CURLOPT_HTTPAUTH, refrain_curl_digest) }
      if usesDigest, let password {
        set(CURLOPT_USERNAME, password.user)
        set(CURLOPT_PASSWORD, password.password)
      } else if let path = settings.credentialsFile {
        set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
        set(CURLOPT_NETRC_FILE, path)
      }
    }

    private func set(_ option: CURLoption, _ value: Int) {
      refrain_curl_set_long(pointer, option, value)
    }

    private func set(_ option: CURLoption, _ text: String) {
      refrain_curl_set_text(pointer, option, text)
    }

    private func set(_ option: CURLoption, _ context: UnsafeMutableRawPointer) {
      refrain_curl_set_pointer(pointer, option, context)
    }

    /// - Parameter callback: of one type for all that pass bytes.
    private func set(_ option: CURLoption, _ callback: @escaping curl_write_callback) {
      refrain_curl_set_data_callback(pointer, option, callback)
    }

    private func set(_ option: CURLoption, list texts: [String]) {
      var list: UnsafeMutablePointer<curl_slist>?
      // Fails for lack of memory alone, which ends any program in Swift: without one of its header
      // fields it would be another request.
      for text in texts { list = curl_slist_append(list, text)! }
      refrain_curl_set_list(pointer, option, list)
      lists.append(list)
    }

    func long(_ info: CURLINFO) -> Int {
      var value = 0
      refrain_curl_get_long(pointer, info, &value)
      return value
    }
  }
#endif
