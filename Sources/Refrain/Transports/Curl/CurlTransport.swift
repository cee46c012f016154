// SPDX-License-Identifier: MIT
#if os(Linux)
  public import Foundation

  /// Sends requests over the system's libcurl: the default transport on Linux.
  ///
  /// Uses HTTP/1.1, with the distribution's TLS, directly or through the proxies that the
  /// environment names. The body has back-pressure: once 128 KiB are unread (64 initially, less with
  /// many requests), nothing more is read from the connection. Only connecting has a time limit
  /// here, 10 s; `MediaCache.Configuration` limits silence. `OriginRequest.access` and
  /// `waitsForConnectivity` have no effect: Linux does not report which networks are expensive, nor
  /// whether there is one.
  ///
  /// Basic credentials (RFC 7617) are sent as they are until the origin offers Digest (RFC 7616);
  /// from then on libcurl sends Digest, also with the passwords of `Settings.credentialsFile`.
  ///
  /// All transports of a process with the same settings share their connections, and a thread.
  public struct CurlTransport: RelayingTransport {
    private let settings: Settings

    public init(_ settings: Settings = Settings()) {
      self.settings = settings
    }

    /// Starts the thread that sends requests, unless it runs. Without room for it, the first request
    /// fails.
    func startThread() { _ = try? CurlLoop.with(settings) }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try request.check()
      do {
        return try await CurlExchange(request, on: CurlLoop.with(settings)).send()
      } catch let error as TransportError where error.cause == .noAddress {
        let host = request.url.host() ?? ""
        throw await IOThreads.shared.run { TransportError.noAddress(of: host) }
      }
    }
  }

  extension OriginRequest {
    /// Whether the request may be sent again if a kept connection turns out to be closed (RFC
    /// 9110 §9.2.2).
    var isIdempotent: Bool {
      body == nil && ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)
    }

    /// Only such requests share a handle that knows a challenge: they set the same options.
    var isPlainGet: Bool { method == "GET" && body == nil }
  }

  extension CurlTransport {
    /// How servers are reached, and which are trusted. Nil properties use the defaults of libcurl
    /// and the system.
    public struct Settings: Sendable, Hashable {
      /// The proxies in use (see `init(environment:)`).
      var proxies: ProxyEnvironment
      /// A file of certificate authorities in PEM, in place of the system's.
      public var certificateFile: String?
      /// A directory of such files, each named by its hash (openssl-rehash(1)).
      public var certificateDirectory: String?
      /// Whether certificates are verified. False: anybody on the network path can read and change
      /// the traffic.
      public var verifiesCertificates = true
      /// A file with users and passwords of hosts, as `~/.netrc` (curl(1), `--netrc-file`). They
      /// are sent to these hosts with each request without its own Authorization: as Basic
      /// credentials, or as Digest to an origin that asks for it.
      public var credentialsFile: String?
      /// A network interface, a host name or an address of this machine from which connections are
      /// made (CURLOPT_INTERFACE(3)).
      public var networkInterface: String?
      /// Addresses that replace those of the name server, each as `HOST:PORT:ADDRESS`
      /// (CURLOPT_RESOLVE(3)).
      public var addresses: [String] = []

      /// Creates settings from the environment. Requests to this machine never use a proxy.
      ///
      /// - Parameter environment: read for `http_proxy`, `https_proxy`, `all_proxy` (also in
      ///   capitals, except the first) and `no_proxy`, for `SSL_CERT_FILE` and `SSL_CERT_DIR`.
      public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        func value(_ name: String) -> String? {
          environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        proxies = ProxyEnvironment(environment)
        certificateFile = value("SSL_CERT_FILE")
        certificateDirectory = value("SSL_CERT_DIR")
      }
    }
  }
#endif
