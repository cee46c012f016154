// SPDX-License-Identifier: MIT
#if os(Linux)
  public import Foundation

  extension CurlTransport {
    /// How servers are reached, and which are trusted. What is nil is as libcurl and the system have it.
    public struct Settings: Sendable, Hashable {
      /// Which proxies are asked (see `init(environment:)`).
      var proxies: ProxyEnvironment
      /// A file of certificate authorities in PEM, in place of the system's.
      public var certificateFile: String?
      /// A directory of such files, each named by its hash (openssl-rehash(1)).
      public var certificateDirectory: String?
      /// False: any certificate will do, so that anybody on the way can read and change what is sent.
      public var verifiesCertificates = true
      /// A file with users and passwords of hosts, as `~/.netrc` (curl(1), `--netrc-file`). They are
      /// sent to these hosts with each request that has no Authorization of its own.
      public var credentialsFile: String?
      /// A network interface, a host name or an address of this machine that connections begin at
      /// (CURLOPT_INTERFACE(3)).
      public var networkInterface: String?
      /// Addresses in place of those that a name server would tell, each as `HOST:PORT:ADDRESS`
      /// (CURLOPT_RESOLVE(3)).
      public var addresses: [String] = []
      /// Where connecting takes so long, in microseconds, another connection is opened in advance for a
      /// player that may jump.
      package var slowConnect = 20_000

      /// - Parameter environment: read for `http_proxy`, `https_proxy`, `all_proxy` (in capitals, too,
      ///   but for the first) and `no_proxy`, for `SSL_CERT_FILE` and `SSL_CERT_DIR`. What is on this
      ///   machine is never asked through a proxy.
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
