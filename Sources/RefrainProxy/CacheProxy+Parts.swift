// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

/// The parts of a proxy, each with what it needs of the configuration.

extension OperatedProxy {
  /// - Throws: as `CacheProxy.init(cache:configuration:)`.
  package init(
    cache: MediaCache, configuration: CacheProxy.Configuration
  ) throws(CacheProxyError) {
    let configuration = configuration.resolved
    try configuration.checkNodeName()
    let isForManyOrigins = configuration.origin == nil
    let number = String(UInt32.random(in: .min ... .max), radix: 36)
    self.init(
      cache: cache, nodeName: configuration.nodeName, origin: configuration.origin,
      traffic: Traffic(), phase: ProxyPhase(), routes: try Routes(configuration),
      place: ProxyPlace(),
      connections: ConnectionCount { [most = configuration.maximumConnections] in
        min(most ?? DescriptorBudget.forClients, DescriptorBudget.forClientsAtMost)
      },
      originFields: OriginFields(
        own: configuration.headers, isForManyOrigins: isForManyOrigins,
        viaName: "\(configuration.nodeName)-\(number)",
        isShared: !isForManyOrigins || cache.isShared),
      hits: CachedHits(), invalidations: Invalidations(since: cache.now.wall))
  }
}

extension Routes {
  init(_ configuration: CacheProxy.Configuration) throws(CacheProxyError) {
    try self.init(
      address: configuration.address, token: configuration.token, origin: configuration.origin,
      allowedHosts: configuration.allowedHosts, names: configuration.names)
  }
}

extension ServingRules {
  init(_ configuration: CacheProxy.Configuration) {
    self.init(
      origin: configuration.origin, allowedWebOrigin: configuration.allowedWebOrigin,
      relayedMethods: configuration.relayedMethods, handlers: configuration.handlers,
      servesOnePlay: configuration.servesOnePlay, fetchesWhole: configuration.fetchesWhole,
      redirectsPages: configuration.redirectsPages)
  }
}

extension ConnectionTimeouts {
  /// - Parameter longestSilence: for how long an origin may be silent.
  init(_ configuration: CacheProxy.Configuration, longestSilence: Duration) {
    self.init(
      head: configuration.headTimeout, idle: configuration.idleTimeout,
      send: configuration.sendTimeout,
      endedInput: configuration.endedInputTimeout ?? longestSilence,
      crowdedEndedInput: configuration.crowdedEndedInputTimeout,
      mostEndedInputs: configuration.mostEndedInputs,
      lastRequest: configuration.lastRequestTimeout,
      endedInputClock: configuration.endedInputClock)
  }
}

extension CacheProxy.Configuration {
  /// - Throws: `.invalidConfiguration` for a name that no field can contain.
  fileprivate func checkNodeName() throws(CacheProxyError) {
    guard CacheStatus.isNodeName(nodeName) else {
      throw CacheProxyError(
        .invalidConfiguration,
        "\(String(reflecting: nodeName.prefix(100))) is not a valid name of a node.",
        remedy: "Use letters, digits, '-', '.' and '_', at most 63, the first one a letter.")
    }
  }
}
