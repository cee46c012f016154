// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

extension CacheProxy {
  /// The settings of a `CacheProxy`. A value: changes after the proxy was created have no effect.
  public struct Configuration: Sendable {
    /// The address to listen on: a numeric address, or a name that resolves to one. Any address
    /// other than loopback needs `origin`, or at least one of `allowedHosts`.
    public var address = "127.0.0.1"

    /// The port to listen on; 0 selects a free one.
    public var port = 0

    /// A socket that listens already, in place of `address` and `port`, which are then its own.
    /// Whoever holds it open can end one process and start the next without a failed request:
    /// connections wait meanwhile. Call `beginDraining()`, and `stop()` a second later or more.
    public var socket: ListeningSocket?

    /// The unguessable part of each URL without an `origin`: at least 16 letters, digits, `-`, `.`,
    /// `_` and `~`. Nil: a new random token, known only from the proxy's URLs.
    ///
    /// With a token of your own, the URLs of streams survive a restart: the headers and cookies
    /// that they need are stored in the cache directory, in the clear, readable only by its owner,
    /// until they have not been used for 30 days. `MediaCache.removeAll` removes what is stored; a
    /// stream that is playing then plays on, until the proxy ends. With a random token they stay
    /// in memory.
    public var token: String?

    /// The only origin to serve, path for path and without a token: a caching reverse proxy. If it
    /// serves more than one person, give the `cache` a `Configuration` with `isShared`.
    public var origin: URL?

    /// The hosts that may be requested, redirects included; empty for all. `example.com` is that
    /// host only, `*.example.com` every host below it. A port may follow, as in `example.com:8080`;
    /// without one all ports are allowed.
    ///
    /// With `origin`: the hosts to which redirects are followed besides the origin itself. A
    /// redirect to any other host is passed on to the client.
    public var allowedHosts: [String] = []

    /// Names of the proxy besides its addresses, `localhost` and this machine's name. They are
    /// accepted with any port, since a balancer passes on its own; the others with the proxy's port
    /// only, and loopback addresses too, even if they are given here. A request with any other
    /// `Host` is refused (421): it comes from a web page whose own name was made to point here (DNS
    /// rebinding). A name that no `Host` can have, such as a URL, is an invalid configuration.
    public var names: [String] = []

    /// The web origin whose pages may read through the proxy (`Access-Control-Allow-Origin`), such
    /// as `https://example.com`; `*` for every one. Nil: none.
    public var allowedWebOrigin: String?

    /// The methods besides GET and HEAD that are relayed to an origin. Unsafe methods are refused
    /// (403) if a browser reports that a page of another site sends them, unless `allowedWebOrigin`
    /// names that site; `*` does not.
    public var relayedMethods = RelayedMethods.none

    /// Fields sent with every request to an origin, in place of a client's own of the same name. A
    /// host that only a playlist of another one names receives `User-Agent`, `Referer`, `Origin`,
    /// `Accept` and `Accept-Language` alone.
    public var headers = HeaderFields()

    /// Handlers of the app's own, asked in this order before the cache.
    public var handlers: [any ProxyHandler] = []

    /// Whether all requests are of one player in this process: they join the origin's responses of
    /// the last seconds, as the readers of one play do.
    package var servesOnePlay = false

    /// Whether a resource that a client has begun is fetched to its end, even after the client
    /// leaves.
    public var fetchesWhole = false

    /// Whether a page (`text/html`) is answered with a redirect to its own URL: a player's helper
    /// that recognizes sites by their URLs (yt-dlp) then finds the site, and not this proxy.
    public var redirectsPages = false

    /// The name of this proxy in `Cache-Status` (RFC 9211) and `Via`, and the beginning of its name
    /// in `CDN-Loop` (RFC 8586): letters, digits, `-`, `.` and `_`, beginning with a letter. Give
    /// each of several nodes its own.
    public var nodeName = "refrain"

    /// The most connections at a time; a further one receives 503. Nil: a quarter of the limit
    /// of open files (getrlimit(2)), at most 100,000. A greater value than that limit permits is
    /// reduced.
    public var maximumConnections: Int?

    /// Whether `log` receives the protocol version, `Referer` and `User-Agent` of requests.
    public var logsClientFields = false

    /// The longest wait for the whole head of a request, from its first byte on, and for further
    /// bytes of a request's body.
    public var headTimeout: Duration = .seconds(30)

    /// The longest wait for a request on an idle connection.
    public var idleTimeout: Duration = .seconds(75)

    /// The longest time for which a client may accept no bytes.
    public var sendTimeout: Duration = .seconds(300)

    /// The time that a client of a given socket has for its next request once the proxy stops.
    /// Those that have been silent for longer are closed at once.
    package var lastRequestTimeout: Duration = .seconds(1)

    // Whether stored bytes are sent by sendfile(2), and not through a buffer.
    #if os(iOS) || os(tvOS) || os(visionOS)
      /// A call of sendfile(2) ends the process there (SIGSYS).
      package var sendsFiles = false
    #else
      package var sendsFiles = true
    #endif

    /// The longest time for which running responses continue after `stop()`.
    public var stopTimeout: Duration = .seconds(5)

    /// Called for each request when it has ended. On a thread of the proxy's: it must not block.
    public var log: (@Sendable (ServedRequest) -> Void)?

    public init() {}
  }
}

extension ProxyService {
  /// Throws as `CacheProxy.init(cache:configuration:)`.
  package convenience init(
    cache: MediaCache, configuration: CacheProxy.Configuration
  ) throws(CacheProxyError) {
    let node = configuration.nodeName
    // A token of RFC 9110 §5.6.2, for Via, and of RFC 8941 §3.3.4, for Cache-Status, alike.
    guard node.wholeMatch(of: /[A-Za-z][A-Za-z0-9._-]{0,62}/) != nil else {
      throw CacheProxyError(
        .invalidConfiguration,
        "\(String(reflecting: node.prefix(100))) is not a valid name of a node.",
        remedy: "Use letters, digits, '-', '.' and '_', at most 63, the first one a letter.")
    }
    let routes = try Routes(configuration)
    self.init(
      ServingRules(
        origin: configuration.origin, allowedWebOrigin: configuration.allowedWebOrigin,
        relayedMethods: configuration.relayedMethods, handlers: configuration.handlers,
        servesOnePlay: configuration.servesOnePlay, fetchesWhole: configuration.fetchesWhole,
        redirectsPages: configuration.redirectsPages, log: configuration.log,
        logsClientFields: configuration.logsClientFields),
      routes, cache: cache,
      connections: ConnectionCount { [most = configuration.maximumConnections] in
        min(most ?? DescriptorBudget.forClients, DescriptorBudget.forClientsAtMost)
      },
      headers: configuration.headers, nodeName: node, token: configuration.token)
  }
}

extension Routes {
  init(_ configuration: CacheProxy.Configuration) throws(CacheProxyError) {
    try self.init(
      at: ListeningPlace(
        ListeningAddress(host: configuration.address, port: configuration.port),
        configuration.socket),
      token: configuration.token, origin: configuration.origin,
      allowedHosts: configuration.allowedHosts, names: configuration.names)
  }
}
