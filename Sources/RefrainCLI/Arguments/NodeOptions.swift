// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

/// The options of a proxy that runs as a service, perhaps one of several behind a balancer.
struct NodeOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Also listen here, for the operator alone: health, metrics, purging and, with --origin, the \
      page. Whoever reaches this address can watch and change the cache. Default port: \
      \(NodeOptions.standardAdminPort).
      """, valueName: "address:port"),
    transform: { text in try usage { try ListenAddress(parsing: text) } })
  var admin: ListenAddress?

  @Option(
    help: ArgumentHelp(
      "The name of this node in Cache-Status and Via. Default: refrain.", valueName: "name"))
  var nodeName: String?

  @Option(
    help: ArgumentHelp(
      """
      Respond to a balancer at this path of the proxy itself, with 200 or 503; hides the origin's \
      resource there. Default: only --admin has /health.
      """, valueName: "path"))
  var healthPath: String?

  @Option(
    name: .customLong("drain"),
    help: ArgumentHelp(
      """
      After SIGTERM or SIGINT, report 503 to balancers and serve on for so many seconds before \
      accepting no more connections. Running responses then have as long again, and at least 5 \
      seconds.
      """, valueName: "seconds"))
  var drainSeconds = 0

  static let standardAdminPort = 8574

  var drain: Duration { .seconds(drainSeconds) }

  func validate() throws {
    guard (0...86_400).contains(drainSeconds) else {
      throw ValidationError("--drain is a number of seconds from 0 to 86400.")
    }
  }

  func apply(to configuration: inout CacheProxy.Configuration) {
    configuration.adminAddress = admin.map {
      ListeningAddress(
        host: $0.host ?? ListenAddress.standardHost, port: $0.port ?? Self.standardAdminPort)
    }
    if let nodeName { configuration.nodeName = nodeName }
    configuration.healthPath = healthPath
    configuration.stopTimeout = max(configuration.stopTimeout, drain)
  }
}
