// SPDX-License-Identifier: MIT
#if os(Linux)
  public import Foundation

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
