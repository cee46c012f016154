// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// Returns the object that libcurl was given as a context, which somebody else retains.
  func object<Object: AnyObject>(of context: UnsafeMutableRawPointer?) -> Object {
    Unmanaged<Object>.fromOpaque(context!).takeUnretainedValue()
  }

  private func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer { object(of: context) }

  /// Set in this file alone: the compiler cannot check which option requires which type.
  extension CurlTransfer {
    func setOptions() {
      setRequest(exchange.request)
      setConnection(thread.settings)
      curlSet(pointer, CURLOPT_BUFFERSIZE, exchange.readSize)
      curlSet(pointer, CURLOPT_SHARE, thread.share)
      curlSet(pointer, CURLOPT_ERRORBUFFER, UnsafeMutableRawPointer(errorText))
      let context = Unmanaged.passUnretained(self).toOpaque()
      for option in [
        CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA,
        CURLOPT_OPENSOCKETDATA, CURLOPT_PREREQDATA,
      ] {
        curlSet(pointer, option, context)
      }
      curlSet(pointer, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        transfer(context).readLine(.init(start: bytes, count: size * count))
      }
      curlSet(pointer, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
        transfer(context).take(.init(start: bytes, count: size * count))
      }
      curlSet(pointer, CURLOPT_READFUNCTION) { bytes, size, count, context in
        transfer(context).give(.init(start: bytes, count: size * count))
      }
      refrain_curl_set_socket_opener(pointer) { context, _, address in
        transfer(context).openSocket(address!)
      }
      refrain_curl_set_connected_callback(pointer) { context, address, _, _, port in
        let mayContinue = transfer(context).connected(to: String(cString: address!), from: port)
        return Int32(mayContinue ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT)
      }
      // Beyond this object's life: connections of earlier transfers are closed later.
      curlSet(pointer, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(thread).toOpaque())
      refrain_curl_set_socket_closer(pointer) { context, socket in
        (object(of: context) as CurlThread).closeSocket(socket)
      }
    }

    private func setRequest(_ request: OriginRequest) {
      // The caller handles a user and password in the URL.
      curlSet(pointer, CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
      curlSet(pointer, CURLOPT_URL, request.url.withoutUserInfo.absoluteString)
      // Verbatim: the signature of a signed URL covers its spelling.
      curlSet(pointer, CURLOPT_PATH_AS_IS, 1)
      // libcurl drops the `?` of an empty query, but itself writes the target that Digest covers
      // (RFC 7616 §3.4.6), and the one for a proxy (RFC 9112 §3.2.2).
      let isForProxy = proxy != nil && request.url.scheme?.lowercased() != "https"
      if !usesDigest, !isForProxy, let parts = WebURL(request.url.absoluteString) {
        curlSet(pointer, CURLOPT_REQUEST_TARGET, parts.requestTarget)
      }
      if let body = request.body {
        curlSet(pointer, CURLOPT_UPLOAD, 1)
        curlSet(pointer, CURLOPT_INFILESIZE, Int(body.length))
      }
      switch request.method {
      case "GET" where request.body == nil: break
      case "HEAD" where request.body == nil: curlSet(pointer, CURLOPT_NOBODY, 1)
      default: curlSet(pointer, CURLOPT_CUSTOMREQUEST, request.method)
      }
      setList(CURLOPT_HTTPHEADER, headerLines(request))
      curlSet(pointer, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      // SHOUTcast.
      setList(CURLOPT_HTTP200ALIASES, ["ICY "])
      if let silence = request.longestSilence {
        curlSet(pointer, CURLOPT_LOW_SPEED_LIMIT, 1)
        curlSet(pointer, CURLOPT_LOW_SPEED_TIME, Int(silence.components.seconds))
      }
    }

    private func headerLines(_ request: OriginRequest) -> [String] {
      var fields = request.headers
      if usesDigest { fields["Authorization"] = nil }
      var lines = fields.fields.map { field in
        // libcurl's form of an empty field.
        field.value.trimmingOWS.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
      }
      // Otherwise libcurl adds its own.
      for name in ["Accept", "Expect", "User-Agent"] where request.headers[name] == nil {
        lines.append("\(name):")
      }
      return lines
    }

    private func setConnection(_ settings: CurlTransport.Settings) {
      curlSet(pointer, CURLOPT_NOSIGNAL, 1)
      // Over HTTP/2, bytes that one reader leaves unread would block all others, or be buffered.
      curlSet(pointer, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
      // For DNS, the connection, the proxy and TLS.
      curlSet(pointer, CURLOPT_CONNECTTIMEOUT, 10)
      refrain_curl_quick_exit(pointer)
      // Where a kept connection is just closing, libcurl sends a request again.
      if isRepeated || !isIdempotent { curlSet(pointer, CURLOPT_FRESH_CONNECT, 1) }
      // Both are set, so that libcurl itself never reads the environment.
      curlSet(pointer, CURLOPT_PROXY, proxy ?? "")
      curlSet(pointer, CURLOPT_NOPROXY, "")
      if let name = settings.networkInterface { curlSet(pointer, CURLOPT_INTERFACE, name) }
      setList(CURLOPT_RESOLVE, settings.addresses)
      curlSet(pointer, CURLOPT_SSL_VERIFYPEER, settings.verifiesCertificates ? 1 : 0)
      curlSet(pointer, CURLOPT_SSL_VERIFYHOST, settings.verifiesCertificates ? 2 : 0)
      if let path = settings.certificateFile { curlSet(pointer, CURLOPT_CAINFO, path) }
      if let path = settings.certificateDirectory { curlSet(pointer, CURLOPT_CAPATH, path) }
      // For Digest, libcurl sends the request without credentials, and again after the 401.
      if usesDigest { curlSet(pointer, CURLOPT_HTTPAUTH, refrain_curl_digest) }
      if usesDigest, let password {
        curlSet(pointer, CURLOPT_USERNAME, password.user)
        curlSet(pointer, CURLOPT_PASSWORD, password.password)
      } else if let path = settings.credentialsFile {
        curlSet(pointer, CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
        curlSet(pointer, CURLOPT_NETRC_FILE, path)
      }
    }

    private func setList(_ option: CURLoption, _ texts: [String]) {
      var list: UnsafeMutablePointer<curl_slist>?
      // Fails for lack of memory alone, which ends any program in Swift.
      for text in texts { list = curl_slist_append(list, text)! }
      curlSet(pointer, option, list)
      lists.append(list)
    }
  }
#endif
