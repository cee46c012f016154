// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy
import RefrainServer

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve the cache to any player, as a local HTTP proxy.",
    usage: "refrain serve [<options>]",
    discussion: """
      The first line of standard output is the proxy's URL; a line for each request follows. \
      'refrain url' turns a URL into one to give to a player. The proxy's URL does not change \
      between runs: an unguessable token in it keeps out other users of this computer and web \
      pages. Keep the token secret; it is stored in the cache directory, in \(ProxyFile.name). \
      The headers and cookies that streams need are stored in that directory too, so that their \
      URLs stay valid when the proxy restarts; 'refrain rm --all' removes them.

      The proxy's URL is also a page: it shows what is stored and fetched, plays it, and adds, \
      pins and removes resources. --open opens it in a browser. With --origin, the page is at the \
      URL of --admin.

      With --origin the proxy is instead a caching reverse proxy of that one server, path for \
      path and without a token, and stores what a shared cache may store (RFC 9111).

      The proxy listens on this computer only, unless --listen is given. Others can then reach it \
      too: --origin is required, or --allow-host for each host that they may fetch from. What is \
      stored is then for everybody: it is what a shared cache may store (RFC 9111).

      With --key-ignore, stored responses are served without a check of the ignored parameters, to \
      everybody who knows the proxy's URL. --origin and --listen for others therefore exclude it.

      A request's line shows the method, the status, the source of the response, the bytes sent \
      and the time, the URL, the range and the error. The sources: 'hit', the cache; \
      'revalidated', the cache after the origin confirmed the response; 'partial', both; 'miss', \
      the origin, and the response is stored; 'relayed', the origin, and the response is not \
      stored; 'stale', the cache because the origin was not reached; 'proxy', the proxy itself.

      With --json each line is an object: first one whose 'event' is 'listening', with 'url', \
      'address', 'port' and, with --admin, 'admin', the URL of its listener; then one whose \
      'event' is 'request' for each request, where 'range' is the first offset and the offset \
      after the last.

      With --admin, the second line of standard output is 'Admin: ' and the URL of a listener for \
      the operator, with /health (200, or 503 while the proxy drains or the disk fails; \
      '/health?origin' asks the origin too), /metrics (for Prometheus), purging \
      ('refrain rm --node') and, with --origin, the page. Without --origin, all of it is also \
      under the proxy's URL.

      SIGINT and SIGTERM stop the proxy: running responses have a few seconds to finish. With \
      --drain, it first reports that it is about to end, and serves for that long. A second \
      signal stops it at once. The exit code is then 130 or 143; 1 if the proxy cannot listen, 64 \
      for wrong usage.

      With --access-log, SIGHUP opens the log again; without it, SIGHUP ends the program.

      An upgrade without a failed request needs a socket unit of systemd (refrain-serve.socket), \
      which keeps the port open: restart the service, and connections wait meanwhile. Responses \
      that take longer than some seconds need --drain.

      Examples:
        refrain serve
        mpv "$(refrain url https://example.org/song.flac)"
        refrain serve --port 0 --quiet
        refrain serve --origin https://media.example.org --listen 0.0.0.0:8080
        refrain serve --origin https://media.example.org --admin 8574 --drain 10
        refrain serve --listen 0.0.0.0 --allow-host '*.example.org' --name media.local
      """)

  @Option(
    help: ArgumentHelp(
      """
      The address to listen on, as in \(ListenAddress.examples). Default: \
      \(ListenAddress.standardHost):\(ListenAddress.standardPort).
      """, valueName: "address:port"),
    transform: { text in try usage { try ListenAddress(parsing: text) } })
  var listen = ListenAddress(host: nil, port: nil)

  @Option(
    help: ArgumentHelp("The port to listen on; 0 selects a free one.", valueName: "port"),
    transform: { text in try usage { try ListenAddress.port(text) } })
  var port: Int?

  @Option(
    help: ArgumentHelp("Serve this server only, path for path.", valueName: "url"),
    transform: URL.argument)
  var origin: URL?

  @Option(
    name: .customLong("allow-host"),
    help: ArgumentHelp(
      """
      Fetch from this host only: 'example.org', or '*.example.org' for its subdomains; may be \
      given several times. With --origin: also follow its redirects to this host; any other \
      redirect is passed on, and so is one that a shared cache may not store (private, no-store).
      """, valueName: "host"))
  var allowedHosts: [String] = []

  @Option(
    name: .customLong("name"),
    help: ArgumentHelp(
      """
      A name of the proxy besides its addresses and this computer's name; valid with any port, as \
      behind a balancer. May be given several times.
      """,
      valueName: "host"))
  var names: [String] = []

  @Option(
    name: .customLong("allow-origin"),
    help: ArgumentHelp(
      "The web origin whose pages may read through the proxy, as https://example.org, or '*'.",
      valueName: "web origin"))
  var allowedWebOrigin: String?

  @Option(
    help: ArgumentHelp(
      """
      Relay these methods to the server besides GET and HEAD, as in POST,PUT, or 'all'. Pages of \
      other sites may not use them, unless --allow-origin names the site.
      """, valueName: "methods"),
    transform: { text in try usage { try RelayedMethodsArgument.parse(text) } })
  var methods = RelayedMethods.none

  @Flag(help: "Fetch what a player opened to the end, even if the player disconnects.")
  var whole = false

  @Option(
    help: ArgumentHelp(
      "The maximum number of connections. Default: what the limit of open files allows.",
      valueName: "count"))
  var maxConnections: Int?

  @Flag(help: "Open the proxy's page in a browser.")
  var open = false

  @Flag(help: "Print no lines for requests.")
  var quiet = false

  @OptionGroup(title: "Options of a node")
  var node: NodeOptions

  @OptionGroup(title: "Limits")
  var limits: LimitOptions

  @OptionGroup(title: "Access log")
  var accessLog: AccessLogOptions

  @OptionGroup(title: "Network options")
  var network: NetworkOptions

  @OptionGroup
  var options: GlobalOptions

  private var host: String {
    (try? sockets())?.proxy?.address.host ?? listen.host ?? ListenAddress.standardHost
  }

  /// Whether clients of other people may be served: the cache is a shared one (RFC 9111).
  private var servesOthers: Bool { origin != nil || !NetworkAddress.isLoopback(host: host) }

  private func sockets() throws -> ActivatedSockets { try ActivatedSockets.ofProcess() }

  /// How long to serve on after SIGTERM. If a service manager holds the socket for the next process,
  /// at least a second: connections that the system has passed to this process would be reset
  /// otherwise, and clients could send requests on connections that are being closed.
  private var drain: Duration {
    (try? sockets())?.proxy == nil ? node.drain : max(node.drain, .seconds(1))
  }

  func validate() throws {
    try validateSockets()
    if let named = listen.port, let port, named != port {
      throw ValidationError("--listen names port \(named) and --port \(port); name one.")
    }
    guard NetworkAddress.isLoopback(host: host) || origin != nil || !allowedHosts.isEmpty else {
      let taken =
        ListenAddress.isNumeric(host)
        ? ""
        : "'\(host)' is taken for a name: it is neither a port nor an address as in "
          + "\(ListenAddress.examples). "
      throw ValidationError(
        """
        \(taken)On \(host) this would be an open proxy: others could fetch any URL through it. Use \
        --origin to serve one server, --allow-host for each host that they may fetch from, or \
        listen on \(ListenAddress.standardHost).
        """)
    }
    guard !servesOthers || options.ignoredParameters.isEmpty else {
      throw ValidationError(
        """
        --key-ignore cannot be used with \(origin == nil ? "--listen for others" : "--origin"): \
        everybody would receive what is stored, also with an expired signature. Omit one of them.
        """)
    }
    guard !open || origin == nil || node.admin != nil || (try? sockets())?.admin != nil else {
      throw ValidationError(
        "With --origin the page is on the operator's listener. Add --admin, or omit --open.")
    }
    guard !accessLog.isOnOutput || !options.json else {
      throw ValidationError(
        "Both --json and '--access-log -' are for standard output. Omit one, or name a file.")
    }
    if let maxConnections, maxConnections < 1 {
      throw ValidationError("--max-connections must be at least 1.")
    }
  }

  private func validateSockets() throws {
    let sockets: ActivatedSockets
    do { sockets = try self.sockets() } catch { throw ValidationError("\(error)") }
    guard sockets.proxy == nil || (listen.host == nil && listen.port == nil && port == nil) else {
      throw ValidationError(
        "The service manager passes the socket to listen on. Omit --listen and --port, or stop the "
          + "socket unit.")
    }
    guard sockets.admin == nil || node.admin == nil else {
      throw ValidationError(
        "The service manager passes the operator's socket. Omit --admin, or stop the socket unit.")
    }
  }

  func run() async throws {
    DescriptorBudget.raiseLimit()
    let (command, options) = (self, options)
    try await withCache(options, configuration: cacheConfiguration()) { cache in
      let file = ProxyFile(directory: options.directory)
      let record = try command.record(in: file)
      let log = command.log
      var configuration = command.serverConfiguration(token: record.token)
      let accessLog = try await command.accessLog.begin(
        hasOrigin: command.origin != nil, options.logLevel)
      configuration.proxy.logsClientFields = accessLog != nil
      configuration.proxy.log = command.logging(to: log, and: accessLog)
      let server = try asUsage { try ProxyServer(cache: cache, configuration: configuration) }
      let serving = try await command.start(server)
      do {
        try command.announce(server, record, in: file)
      } catch {
        await serving.stop()
        await log.end()
        await accessLog?.end()
        throw error
      }
      if command.open, let page = server.pageURL {
        await BrowserOpening.open(page, cache, options)
      }
      let result: Result<Void, any Error>
      do {
        result = .success(try await serving.untilEnd(draining: command.drain))
      } catch {
        result = .failure(error)
      }
      await log.end()
      await accessLog?.end()
      try result.get()
    }
  }

  func cacheConfiguration() -> MediaCache.Configuration {
    var configuration = network.configuration(options)
    configuration.isShared = servesOthers
    // A failing origin must not receive each client's request twice: its error is the response.
    if servesOthers { configuration.retry.firstAttempts = 1 }
    configuration.originRate = limits.originRate
    return configuration
  }

  func serverConfiguration(token: String) -> ProxyServer.Configuration {
    var proxy = CacheProxy.Configuration()
    proxy.address = host
    proxy.port = port ?? listen.port ?? ListenAddress.standardPort
    proxy.token = origin == nil ? token : nil
    proxy.origin = origin
    proxy.allowedHosts = allowedHosts
    proxy.names = names
    proxy.allowedWebOrigin = allowedWebOrigin
    proxy.relayedMethods = methods
    proxy.headers = options.fields
    proxy.fetchesWhole = whole
    proxy.maximumConnections = maxConnections
    // Without a valid socket, validation has ended the command.
    let sockets = try? sockets()
    proxy.socket = sockets?.proxy
    var configuration = ProxyServer.Configuration()
    configuration.proxy = proxy
    configuration.servesPage = true
    node.apply(to: &configuration)
    limits.apply(to: &configuration)
    configuration.adminSocket = sockets?.admin
    return configuration
  }

  /// Returns the stored record of the proxy. If none can be stored, the proxy serves with a new
  /// one.
  private func record(in file: ProxyFile) throws -> ProxyRecord {
    // An existing record that cannot be trusted is an error.
    if let record = try file.read() { return record }
    do {
      return try file.readOrCreate()
    } catch {
      Self.warn("The proxy's URLs will be valid for this run only: \(error)", options)
      return .new()
    }
  }

  private func start(_ server: ProxyServer) async throws -> RunningProxy {
    do {
      return try await RunningProxy.start(server.proxy) { try await server.run() }
    } catch let error as CacheProxyError where error.code == .addressInUse {
      throw ProgramError(
        error.reason,
        remedy: """
          Choose another port with --port, --listen or --admin. If 'refrain serve' already runs \
          there, use it: 'refrain url' prints its URLs.
          """)
    }
  }

  /// Prints the first line, and records the proxy's address for `refrain url`.
  private func announce(
    _ server: ProxyServer, _ record: ProxyRecord, in file: ProxyFile
  ) throws {
    guard let base = server.proxy.baseURL, let address = server.proxy.listeningAddress else {
      throw MediaCacheError(.closed, "The proxy stopped before it began to listen.")
    }
    var now = record
    (now.address, now.port, now.origin) = (host, address.port, origin)
    (now.names, now.allowedHosts) = (names, allowedHosts)
    if now != record {
      do {
        try file.replace(with: now)
      } catch {
        Self.warn("'refrain url' will not find this proxy: \(error)", options)
      }
    }
    let admin = server.adminListeningAddress.map { "http://\($0)/" }
    let event = Listening(
      url: base.absoluteString, address: address.host, port: address.port, admin: admin)
    let lines =
      try options.json
      ? [JSONText.line(event)] : [base.absoluteString] + (admin.map { ["Admin: \($0)"] } ?? [])
    try Console.shared.printAlone(lines.joined(separator: "\n"))
  }

  private struct Listening: Encodable {
    var event = "listening"
    var url: String
    var address: String
    var port: Int
    /// The URL of the listener for the operator; absent if there is none.
    var admin: String?
  }

  private static func warn(_ text: String, _ options: GlobalOptions) {
    guard options.logLevel >= .warning else { return }
    Console.shared.noteLater("refrain: \(printable(text))")
  }
}
