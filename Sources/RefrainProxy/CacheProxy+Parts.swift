// SPDX-License-Identifier: MIT
import Foundation
package import Refrain

/// The parts of a proxy, each with what it needs of the configuration.

extension ProxyService {
  /// - Throws: as `CacheProxy.init(cache:configuration:)`.
  package convenience init(
    cache: MediaCache, configuration: CacheProxy.Configuration
  ) throws(CacheProxyError) {
    let configuration = configuration.resolved
    try configuration.checkNodeName()
    let routes = try Routes(configuration)
    self.init(
      ServingRules(
        origin: configuration.origin, allowedWebOrigin: configuration.allowedWebOrigin,
        relayedMethods: configuration.relayedMethods, handlers: configuration.handlers,
        servesOnePlay: configuration.servesOnePlay, fetchesWhole: configuration.fetchesWhole,
        redirectsPages: configuration.redirectsPages),
      routes, cache: cache,
      log: RequestLog(
        configuration.log, hasClientFields: configuration.logsClientFields, routes: routes),
      connections: ConnectionCount { [most = configuration.maximumConnections] in
        min(most ?? DescriptorBudget.forClients, DescriptorBudget.forClientsAtMost)
      },
      headers: configuration.headers, nodeName: configuration.nodeName, token: configuration.token)
  }
}

extension Routes {
  init(_ configuration: CacheProxy.Configuration) throws(CacheProxyError) {
    try self.init(
      address: configuration.address, token: configuration.token, origin: configuration.origin,
      allowedHosts: configuration.allowedHosts, names: configuration.names)
  }
}

extension ConnectionSettings {
  /// - Parameter longestSilence: for how long an origin may be silent.
  init(_ configuration: CacheProxy.Configuration, longestSilence: Duration) {
    self.init(
      headTimeout: configuration.headTimeout, idleTimeout: configuration.idleTimeout,
      sendTimeout: configuration.sendTimeout,
      endedInputTimeout: configuration.endedInputTimeout ?? longestSilence,
      crowdedEndedInputTimeout: configuration.crowdedEndedInputTimeout,
      mostEndedInputs: configuration.mostEndedInputs,
      lastRequestTimeout: configuration.lastRequestTimeout,
      endedInputClock: configuration.endedInputClock, sendsFiles: configuration.sendsFiles,
      isSocketGiven: configuration.socket != nil)
  }
}
