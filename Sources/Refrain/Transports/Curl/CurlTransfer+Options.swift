// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  extension CurlTransfer {
    /// The timeout for connecting: DNS, the connection, the proxy, TLS.
    private static let connectTimeout = 10_000
    /// The least and the most bytes that one read of the socket takes. Each transfer has a buffer
    /// of that size: smaller if there are many.
    private static func bufferSizes(besides others: Int) -> ClosedRange<Int64> {
      switch others {
      case ..<16: 16 << 10...64 << 10
      case ..<64: 16 << 10...32 << 10
      case ..<256: 16 << 10...16 << 10
      default: 8 << 10...8 << 10
      }
    }

    /// Sets all options in this one place: the compiler cannot check which option requires which
    /// type.
    ///
    /// - Parameter others: the number of other transfers.
    func setOptions(
      _ settings: CurlTransport.Settings, share: UnsafeMutableRawPointer?, besides others: Int
    ) {
      connectCallbacks()
      setRequest()
      if attempt.usesDigest { setDigest() }
      setConnection(share, Self.bufferSizes(besides: others))
      setTrust(settings)
      setWay(settings)
    }

    private func setRequest() {
      let request = exchange.request
      // The caller handles a user and password in the URL.
      set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
      set(CURLOPT_URL, request.url.withoutUserInfo.absoluteString)
      // Verbatim: the signature of a signed URL covers its spelling.
      set(CURLOPT_PATH_AS_IS, 1)
      let isAskedOfProxy = proxy?.speaksHTTP == true && request.url.scheme?.lowercased() == "http"
      // Digest covers the target that libcurl itself makes of the URL (RFC 7616 §3.4.6).
      if !attempt.usesDigest, let parts = WebURL(request.url.absoluteString) {
        set(
          CURLOPT_REQUEST_TARGET, isAskedOfProxy ? parts.absoluteTarget : parts.requestTarget)
      }
      switch request.method {
      case "GET": set(CURLOPT_HTTPGET, 1)
      case "HEAD": set(CURLOPT_NOBODY, 1)
      default: set(CURLOPT_CUSTOMREQUEST, request.method)
      }
      if let upload = exchange.upload {
        set(CURLOPT_UPLOAD, 1)
        set(CURLOPT_CUSTOMREQUEST, request.method)
        refrain_curl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(upload.length ?? -1))
      }
      set(CURLOPT_HTTPHEADER, list: headerLines(request))
      // Redirects, 401 responses and encoded bodies are passed on unchanged; no cookie is stored.
      set(CURLOPT_FOLLOWLOCATION, 0)
      set(CURLOPT_HTTP_CONTENT_DECODING, 0)
      set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      // SHOUTcast's status line.
      set(CURLOPT_HTTP200ALIASES, list: ["ICY "])
      set(CURLOPT_LOW_SPEED_LIMIT, request.longestSilence == nil ? 0 : 1)
      set(CURLOPT_LOW_SPEED_TIME, Int(request.longestSilence?.components.seconds ?? 0))
    }

    /// Lets libcurl answer a challenge: it sends the request without credentials, unless its handle
    /// knows a challenge, and again after the 401.
    private func setDigest() {
      set(CURLOPT_HTTPAUTH, refrain_curl_digest)
      guard let password = login?.password else { return }
      set(CURLOPT_USERNAME, password.user)
      set(CURLOPT_PASSWORD, password.password)
    }

    /// The request's own header lines, without those that libcurl adds.
    private func headerLines(_ request: RelayedRequest) -> [String] {
      var fields = request.headers
      if attempt.usesDigest { fields["Authorization"] = nil }
      var lines = fields.fields.map { field in
        // libcurl's form of an empty field.
        field.value.trimmingOWS.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
      }
      for name in ["Accept", "Expect", "User-Agent"] where request.headers[name] == nil {
        lines.append("\(name):")
      }
      if let upload = exchange.upload, upload.length == nil {
        lines.append("Transfer-Encoding: chunked")
      }
      return lines
    }

    private func setConnection(
      _ share: UnsafeMutableRawPointer?, _ bufferSizes: ClosedRange<Int64>
    ) {
      set(CURLOPT_NOSIGNAL, 1)
      // Over HTTP/2, bytes that one reader leaves unread would block all others, or be buffered.
      set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
      set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectTimeout)
      let size = exchange.request.length ?? bufferSizes.upperBound
      set(CURLOPT_BUFFERSIZE, Int(min(max(size, bufferSizes.lowerBound), bufferSizes.upperBound)))
      refrain_curl_quick_exit(handle)
      // A kept connection may just be closing, and libcurl would resend a request that may have
      // been carried out already.
      let isNew = attempt.usesNewConnection || !exchange.request.isIdempotent
      set(CURLOPT_FRESH_CONNECT, isNew ? 1 : 0)
      if let share { set(CURLOPT_SHARE, share) }
    }

    private func setTrust(_ settings: CurlTransport.Settings) {
      for (verify, verifyHost, file, directory) in [
        (CURLOPT_SSL_VERIFYPEER, CURLOPT_SSL_VERIFYHOST, CURLOPT_CAINFO, CURLOPT_CAPATH),
        (
          CURLOPT_PROXY_SSL_VERIFYPEER, CURLOPT_PROXY_SSL_VERIFYHOST, CURLOPT_PROXY_CAINFO,
          CURLOPT_PROXY_CAPATH
        ),
      ] {
        set(verify, settings.verifiesCertificates ? 1 : 0)
        set(verifyHost, settings.verifiesCertificates ? 2 : 0)
        if let path = settings.certificateFile { set(file, path) }
        if let path = settings.certificateDirectory { set(directory, path) }
      }
    }

    private func setWay(_ settings: CurlTransport.Settings) {
      // Both are set, so that libcurl itself never reads the environment.
      set(CURLOPT_PROXY, proxy?.url ?? "")
      set(CURLOPT_NOPROXY, "")
      if let path = settings.credentialsFile, !(attempt.usesDigest && login?.password != nil) {
        set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
        set(CURLOPT_NETRC_FILE, path)
      }
      if let name = settings.networkInterface { set(CURLOPT_INTERFACE, name) }
      set(CURLOPT_RESOLVE, list: settings.addresses)
    }
  }
#endif
