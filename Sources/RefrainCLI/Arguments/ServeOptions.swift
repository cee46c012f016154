// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy
import RefrainServer

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

  func apply(to configuration: inout ProxyServer.Configuration) {
    configuration.adminAddress = admin.map {
      ListeningAddress(
        host: $0.host ?? ListenAddress.standardHost, port: $0.port ?? Self.standardAdminPort)
    }
    if let nodeName { configuration.proxy.nodeName = nodeName }
    configuration.healthPath = healthPath
    configuration.proxy.stopTimeout = max(configuration.proxy.stopTimeout, drain)
  }
}

/// What the clients of a proxy, and the proxy itself, may use.
struct LimitOptions: ParsableArguments {
  @Option(
    name: .customLong("max-client-connections"),
    help: ArgumentHelp(
      """
      The maximum number of connections of one client: of an IPv4 address, or of an IPv6 network \
      (/64). Further ones receive 429. Behind a balancer, set such limits there.
      """, valueName: "count"))
  var clientConnections: Int?

  @Option(
    name: .customLong("request-rate"),
    help: ArgumentHelp(
      """
      The requests per second of one client, in the long run; two seconds' worth, and at least \
      ten, may come at once. Further ones receive 429 with Retry-After.
      """, valueName: "count"))
  var requestRate: Double?

  @Option(
    name: .customLong("limit-rate"),
    help: ArgumentHelp(
      "The bytes per second sent to one client, as in 500K or 2M.", valueName: "size"),
    transform: LimitOptions.rate)
  var clientRate: Int64?

  @Option(
    name: .customLong("origin-rate"),
    help: ArgumentHelp(
      "The bytes per second received from the origin, all requests together.", valueName: "size"),
    transform: LimitOptions.rate)
  var originRate: Int64?

  func validate() throws {
    if let clientConnections, clientConnections < 1 {
      throw ValidationError("--max-client-connections must be at least 1.")
    }
    if let requestRate, !(0.001...1e6).contains(requestRate) {
      throw ValidationError("--request-rate is a number from 0.001 to 1000000.")
    }
  }

  private static func rate(_ text: String) throws -> Int64 {
    try usage {
      let size = try ByteSize.parse(text)
      guard size >= 1024 else { throw InvalidArgument("a rate is at least 1K, per second") }
      return size
    }
  }

  func apply(to configuration: inout ProxyServer.Configuration) {
    configuration.clientLimits.connections = clientConnections
    configuration.clientLimits.requestsPerSecond = requestRate
    configuration.clientLimits.bytesPerSecond = clientRate
  }
}

/// The value of `--methods`: names separated by commas, or `all`.
enum RelayedMethodsArgument {
  static func parse(_ text: String) throws(InvalidArgument) -> RelayedMethods {
    if text.lowercased() == "all" { return .all }
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingPrefix { $0 == " " }.uppercased()
    }
    guard names.allSatisfy({ isToken($0) }) else {
      throw InvalidArgument(
        "methods are separated by commas, as in POST,PUT,DELETE; all stands for every method")
    }
    return .only(Set(names))
  }

  /// Whether the name is a token (RFC 9110 §5.6.2) with no punctuation but `-`, as in registered
  /// methods.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
