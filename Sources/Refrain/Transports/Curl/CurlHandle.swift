// SPDX-License-Identifier: MIT
#if os(Linux)
  import CCurl
  import Foundation

  /// A handle of libcurl, and the memory that it uses. Knows the last challenge that it was sent
  /// (RFC 7616 §3.3).
  final class CurlHandle {
    let pointer: UnsafeMutableRawPointer
    private var lists: [CURLoption: UnsafeMutablePointer<curl_slist>] = [:]
    private let errorText: UnsafeMutablePointer<CChar>

    /// Nil if libcurl cannot be used.
    init?() {
      guard let pointer = curl_easy_init() else { return nil }
      self.pointer = pointer
      errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
      set(CURLOPT_ERRORBUFFER, errorText)
    }

    deinit {
      curl_easy_cleanup(pointer)
      for list in lists.values { curl_slist_free_all(list) }
      errorText.deallocate()
    }

    /// libcurl's description of the last error; empty if there is none.
    var message: String { String(cString: errorText) }

    func forgetMessage() { errorText.pointee = 0 }

    // The compiler cannot check which option requires which type.

    func set(_ option: CURLoption, _ value: Int) {
      refrain_curl_set_long(pointer, option, value)
    }

    func set(_ option: CURLoption, _ text: String) {
      refrain_curl_set_text(pointer, option, text)
    }

    /// - Parameter bytes: without zeros.
    func set(_ option: CURLoption, _ bytes: [UInt8]) {
      (bytes + [0]).withUnsafeBytes {
        _ = refrain_curl_set_text(pointer, option, $0.bindMemory(to: CChar.self).baseAddress)
      }
    }

    func set(_ option: CURLoption, _ context: UnsafeMutableRawPointer) {
      refrain_curl_set_pointer(pointer, option, context)
    }

    func set(_ option: CURLoption, list texts: [String]) {
      var list: UnsafeMutablePointer<curl_slist>?
      // Fails for lack of memory alone, which ends any program in Swift: without one of its header
      // fields it would be another request.
      for text in texts { list = curl_slist_append(list, text)! }
      refrain_curl_set_list(pointer, option, list)
      if let old = lists[option] { curl_slist_free_all(old) }
      lists[option] = list
    }

    func long(_ info: CURLINFO) -> Int {
      var value = 0
      refrain_curl_get_long(pointer, info, &value)
      return value
    }

    /// Whether there was a connection, even without TLS.
    var hasConnected: Bool {
      var time: curl_off_t = 0
      refrain_curl_get_offset(pointer, CURLINFO_CONNECT_TIME_T, &time)
      return time > 0
    }
  }

  /// Returns the object that libcurl was given as a context, which somebody else retains.
  func object<Object: AnyObject>(of context: UnsafeMutableRawPointer?) -> Object {
    Unmanaged<Object>.fromOpaque(context!).takeUnretainedValue()
  }

  /// The user and password of requests to one origin.
  struct CurlLogin: Hashable {
    private var origin: WebOrigin
    /// Nil: those of `CurlTransport.Settings.credentialsFile`.
    private(set) var password: UserPassword?

    /// Nil if the request has no user and password.
    init?(_ request: OriginRequest, _ settings: CurlTransport.Settings) {
      let authorization = request.headers["Authorization"]
      password = UserPassword(authorization: authorization)
      guard password != nil || (authorization == nil && settings.credentialsFile != nil),
        let origin = WebOrigin(request.url)
      else { return nil }
      self.origin = origin
    }
  }
#endif
