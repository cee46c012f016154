// SPDX-License-Identifier: MIT
public import Foundation
public import Refrain

extension CacheProxy {
  /// How a `CacheProxy` behaves. A value: changes after the proxy was made have no effect.
  public struct Configuration: Sendable {
    /// The address to listen on: a numeric address, or a name that stands for one. Anything other
    /// than loopback needs `origin`, or at least one of `allowedHosts`.
    public var address = "127.0.0.1"

    /// The port to listen on; 0 takes one that is free.
    public var port = 0

    /// The unguessable part of each URL where there is no `origin`: letters, digits, `-`, `.`, `_`
    /// and `~`, at least 16 of them. Nil: a new one, that nobody knows who was not told a URL.
    public var token: String?

    /// Answer for this origin alone, path for path and without a token: a caching reverse proxy.
    /// Give the `cache` a `Configuration` with `isShared` where it serves more than one person.
    public var origin: URL?

    /// The hosts that may be asked for, redirects included; empty for all. `example.com` is that
    /// host alone, `*.example.com` every host below it. A port may follow, as in `example.com:8080`;
    /// without one all ports are meant.
    ///
    /// With `origin`: the hosts to which redirects are followed besides the origin itself. A redirect
    /// to anywhere else is passed on to the client.
    public var allowedHosts: [String] = []

    /// Names under which the proxy is reached besides its addresses, `localhost` and this machine's
    /// name: a request whose `Host` is none of them is refused (421), for it comes from a web page
    /// that had its own name point here (DNS rebinding).
    public var names: [String] = []

    /// The web origins whose pages may read through the proxy (`Access-Control-Allow-Origin`), as
    /// `https://example.com`; `*` for every one. Nil: none.
    public var allowedWebOrigin: String?

    /// Which methods besides GET and HEAD are relayed to an origin. Those that change something are
    /// refused (403) all the same where a browser says that a page of another site sends them,
    /// unless `allowedWebOrigin` names that site, and not with `*`.
    public var relayedMethods = RelayedMethods.none

    /// Sent with every request to an origin, in place of a client's own of the same name.
    public var headers = HTTPFields()

    /// What a client has begun is fetched to its end, also when the client leaves.
    public var fetchesWhole = false

    /// A page (`text/html`) is answered with a redirect to its own URL: a player's helper that knows
    /// sites by their URLs (yt-dlp) finds the site, and not this proxy.
    public var redirectsPages = false

    /// The most connections at a time; a further one is answered 503. Nil: half of what the limit of
    /// open files allows (getrlimit(2)), which is never exceeded.
    public var maximumConnections: Int?

    /// Longest wait for the whole head of a request, from its first byte on, and for any more of a
    /// request's body.
    public var headTimeout: Duration = .seconds(30)

    /// Longest wait for a request on a connection that has none.
    public var idleTimeout: Duration = .seconds(75)

    /// Longest time that a client takes nothing of what is sent to it.
    public var sendTimeout: Duration = .seconds(300)

    /// Told of each request when it is over. On a thread of the proxy's: it must not block.
    public var log: (@Sendable (ServedRequest) -> Void)?

    /// Whether stored bytes leave by sendfile(2), and not through a buffer.
    package var sendsFiles = Configuration.canSendFiles

    /// On iOS, tvOS and visionOS a call of sendfile(2) ends the process (SIGSYS).
    private static var canSendFiles: Bool {
      #if os(iOS) || os(tvOS) || os(visionOS)
        false
      #else
        true
      #endif
    }

    public init() {}
  }

  /// Methods of requests (RFC 9110 §9).
  public enum RelayedMethods: Sendable, Hashable {
    /// GET and HEAD alone; before an `origin`, OPTIONS as well, which changes nothing.
    case none
    /// These, in capitals as HTTP has them.
    case only(Set<String>)
    /// All but TRACE and CONNECT.
    case all

    func contain(_ method: String) -> Bool {
      switch self {
      case .none: false
      case .only(let names): names.contains(method)
      case .all: true
      }
    }
  }
}
