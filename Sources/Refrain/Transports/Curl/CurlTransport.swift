// SPDX-License-Identifier: MIT
#if os(Linux)
  public import Foundation

  /// Sends requests over the system's libcurl: the default transport on Linux.
  ///
  /// Uses HTTP/1.1, with the distribution's TLS, directly or through the proxies that the
  /// environment names. Once 128 KiB of a body are unread, less with many requests, nothing more is
  /// read from the connection. Only connecting has a time limit here, 10 s;
  /// `MediaCache.Configuration` limits silence. `OriginRequest.access` and `waitsForConnectivity`
  /// have no effect: Linux reports neither which networks are expensive, nor whether there is one.
  ///
  /// Basic credentials (RFC 7617) are sent as they are until the origin offers Digest (RFC 7616);
  /// from then on libcurl sends Digest, also with the passwords of `Settings.credentialsFile`.
  ///
  /// All transports of a process with the same settings share their connections, and a thread.
  public struct CurlTransport: RelayingTransport {
    private let settings: Settings

    public init(_ settings: Settings = Settings()) { self.settings = settings }

    /// Starts the thread unless it runs. Without room for it, the first request fails.
    func startThread() { _ = try? CurlThread.with(settings) }

    public func send(_ request: OriginRequest) async throws -> OriginResponse {
      try request.check()
      return try await CurlExchange(request, on: CurlThread.with(settings)).send()
    }
  }

  extension CurlTransport {
    /// How servers are reached, and which are trusted. Nil properties use the defaults of libcurl
    /// and the system, as does the TLS of a proxy.
    public struct Settings: Sendable, Hashable {
      var proxies: ProxyEnvironment
      /// A file of certificate authorities in PEM, in place of the system's.
      public var certificateFile: String?
      /// A directory of such files, each named by its hash (openssl-rehash(1)).
      public var certificateDirectory: String?
      /// False: anybody on the network path can read and change the traffic.
      public var verifiesCertificates = true
      /// A file with users and passwords of hosts, as `~/.netrc` (curl(1), `--netrc-file`), for
      /// requests without their own Authorization: as Basic credentials, or as Digest.
      public var credentialsFile: String?
      /// The network interface, host name or address of this machine for connections
      /// (CURLOPT_INTERFACE(3)).
      public var networkInterface: String?
      /// Addresses in place of the name server's: `HOST:PORT:ADDRESS` (CURLOPT_RESOLVE(3)).
      public var addresses: [String] = []

      /// Creates settings from the environment. Requests to this machine never use a proxy.
      ///
      /// - Parameter environment: read for `http_proxy`, `https_proxy`, `all_proxy` (also in
      ///   capitals, except the first) and `no_proxy`, for `SSL_CERT_FILE` and `SSL_CERT_DIR`.
      public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
        let environment = environment.filter { !$0.value.isEmpty }
        proxies = ProxyEnvironment(environment)
        certificateFile = environment["SSL_CERT_FILE"]
        certificateDirectory = environment["SSL_CERT_DIR"]
      }
    }
  }

  /// The proxies that the environment names. `HTTP_PROXY` in capitals is ignored: in a CGI script
  /// it is the client's `Proxy:` header.
  struct ProxyEnvironment: Sendable, Hashable {
    private var byScheme: [String: String] = [:]
    /// Each a name, which includes its subdomains; an address, or a range of them such as
    /// `10.0.0.0/8`; `*` for all.
    private var exceptions = ["localhost", "127.0.0.0/8", "::1"]

    init(_ environment: [String: String]) {
      func first(_ names: String...) -> String? {
        names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
      }
      byScheme["http"] = first("http_proxy", "all_proxy", "ALL_PROXY")
      byScheme["https"] = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
      exceptions += (first("no_proxy", "NO_PROXY") ?? "").lowercased()
        .split { $0 == "," || $0.isWhitespace }.map(String.init)
    }

    /// Returns a proxy in libcurl's form: `http://user:password@host:3128`, `socks5://…`.
    func proxy(for url: URL) -> String? {
      guard let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(),
        let proxy = byScheme[scheme]
      else { return nil }
      let name = host.hasSuffix(".") ? String(host.dropLast()) : host
      return exceptions.contains { Self.exception($0, names: name) } ? nil : proxy
    }

    private static func exception(_ text: String, names host: String) -> Bool {
      let parts = text.split(separator: "/", maxSplits: 1)
      if let network = parts.first.flatMap({ NetworkAddress(host: $0) }),
        let address = NetworkAddress(host: host)
      {
        let bits = parts.count == 2 ? Int(parts[1]) ?? -1 : network.bytes.count * 8
        return address.begins(with: network, bits: bits)
      }
      let name = text.drop { $0 == "." || $0 == "*" }
      return text == "*" || (!name.isEmpty && (host == name || host.hasSuffix("." + name)))
    }
  }
#endif
