// SPDX-License-Identifier: MIT
public import RefrainProxy

extension ProxyServer {
  /// The settings of a `ProxyServer`. A value: changes after the server was created have no effect.
  public struct Configuration: Sendable {
    /// Those of the proxy itself. Its `nodeName` is that of the metrics, too.
    public var proxy = CacheProxy.Configuration()

    /// Whether the proxy's own URL (`CacheProxy.baseURL`) is a page that shows what is stored and
    /// fetched, and can add, pin and remove resources. Whoever knows the token may use it. With an
    /// `origin`, which has no token, the page is at `adminAddress` instead, and there is none without
    /// that.
    public var servesPage = false

    /// The address of a listener for the operator alone, with `/health`, `/metrics`, purging, and
    /// with an `origin` the page (`servesPage`); port 0 selects a free one. Nil: none. Whoever reaches
    /// it can watch and change the cache: use loopback, or a network that clients do not reach.
    ///
    /// Without an `origin` the same pages are also under the token, as in `/TOKEN/health`.
    public var adminAddress: ListeningAddress?

    /// A socket that listens already, in place of `adminAddress`.
    public var adminSocket: ListeningSocket?

    /// The path at which the proxy itself responds to a balancer, with 200 or 503 as `/health`
    /// does, in one word and without details. It hides the origin's resource of that path. Nil:
    /// none; the balancer asks at `adminAddress`.
    public var healthPath: String?

    /// What each client may use; no limits by default.
    public var clientLimits = ClientLimits()

    public init() {}

    var adminPlace: ListeningPlace? {
      (adminSocket?.address ?? adminAddress).map { ListeningPlace($0, adminSocket) }
    }

    /// Throws `.invalidConfiguration` for a path that no request has, or an invalid limit.
    func check() throws(CacheProxyError) {
      if let path = healthPath {
        guard path.hasPrefix("/"), path.utf8.count > 1, URLSpelling.isTarget(path),
          !path.contains("?")
        else {
          throw CacheProxyError(
            .invalidConfiguration, "\(String(reflecting: path.prefix(100))) is not a valid path.",
            remedy: "Write it as /health.")
        }
      }
      try clientLimits.check()
    }
  }
}
