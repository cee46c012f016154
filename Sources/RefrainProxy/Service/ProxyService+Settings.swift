// SPDX-License-Identifier: MIT
import RefrainLocks

/// The settings that change while the proxy runs.
extension ProxyService {
  var settings: CacheProxy.Settings { currentSettings.withLock { $0 } }

  /// - Throws: `.invalidConfiguration`; then nothing has changed.
  func update(_ settings: CacheProxy.Settings) throws(CacheProxyError) {
    let hosts = try routes.checked(settings.allowedHosts)
    try settings.clientLimits.check()
    guard settings.maximumConnections ?? 1 >= 1 else {
      throw CacheProxyError(
        .invalidConfiguration, "A proxy without connections serves nobody.",
        remedy: "Permit at least one connection.")
    }
    currentSettings.withLock { current in
      current = settings
      routes.allow(hosts)
      clients.update(settings.clientLimits)
      fills.update(settings.fillHours)
      connections.update(most: settings.maximumConnections)
    }
    // They are served without asking whether their host is allowed.
    hits.releaseAll()
    fills.followHours()
  }
}
