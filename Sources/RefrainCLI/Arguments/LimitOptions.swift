// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Refrain
import RefrainProxy

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

  func apply(to configuration: inout CacheProxy.Configuration) {
    configuration.clientLimits.connections = clientConnections
    configuration.clientLimits.requestsPerSecond = requestRate
    configuration.clientLimits.bytesPerSecond = clientRate
  }
}
