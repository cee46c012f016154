// SPDX-License-Identifier: MIT

extension CacheProxy {
  /// The part of a `Configuration` that can change while the proxy runs, by `update(_:)`.
  public struct Settings: Sendable, Hashable {
    /// As `Configuration.allowedHosts`.
    public var allowedHosts: [String]

    /// As `Configuration.clientLimits`.
    public var clientLimits: ClientLimits

    /// As `Configuration.fillHours`.
    public var fillHours: FillHours?

    /// As `Configuration.maximumConnections`.
    public var maximumConnections: Int?

    /// Creates the settings of a configuration.
    public init(of configuration: Configuration = Configuration()) {
      allowedHosts = configuration.allowedHosts
      clientLimits = configuration.clientLimits
      fillHours = configuration.fillHours
      maximumConnections = configuration.maximumConnections
    }
  }

  /// The settings that apply now: those of the `configuration`, or of the last `update(_:)`.
  public var settings: Settings { service.settings }

  /// Changes settings while the proxy runs, all of them or none. From any thread; no connection is
  /// closed.
  ///
  /// - `allowedHosts` decide on requests and redirects from now on, also on open connections. A
  ///   response that has begun is sent to its end, unless the host redirects elsewhere.
  /// - `clientLimits`: open connections stay, and count. Another rate begins with its full
  ///   allowance. A limit of bytes applies to responses that begin from now on; those that have
  ///   begun under one follow its changes.
  /// - `fillHours` begin what waits if they permit it now, and else end the fetches that nobody
  ///   waits for, which go on with the next hours.
  /// - `maximumConnections`: open connections stay, and count.
  ///
  /// - Throws: `CacheProxyError`, `.invalidConfiguration` for an invalid host or limit, or if the
  ///   proxy would become an open one. Then nothing has changed.
  public func update(_ settings: Settings) throws(CacheProxyError) {
    try service.update(settings)
  }
}

extension CacheProxy.Configuration {
  /// Checks what a proxy would: without creating one.
  ///
  /// - Throws: as `CacheProxy.init`.
  package func check() throws(CacheProxyError) {
    _ = try Routes(resolved)
  }
}
