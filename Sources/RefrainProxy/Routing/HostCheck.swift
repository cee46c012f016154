// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Checks that a request is meant for this proxy. A web page whose own name was made to point here
/// is detected by that name in Host (DNS rebinding). The port must be the proxy's own, except behind
/// a name that the user gave: a balancer passes on the port at which clients reached it.
struct HostCheck: Sendable {
  private let hosts: Set<String>
  private let names: Set<String>
  private let port: Int

  /// - Parameters:
  ///   - addresses: numeric addresses, with or without brackets, and names of this machine besides
  ///     `localhost`. Invalid ones are ignored. An IPv4 address in its IPv6 form stands for both
  ///     forms.
  ///   - names: those that the user gave, which are recognized with any port. `localhost` and
  ///     loopback addresses are recognized with the listening port only.
  ///   - port: the listening port.
  init(addresses: [String], names: [String] = [], port: Int) {
    let mapped = addresses.compactMap {
      NetworkAddress(host: $0)?.mappedIPv4?.text
    }
    let bracketed = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    let given = Set(names.compactMap { Authority($0)?.plainHost })
    self.names = Self.publicNames(names)
    hosts = Set((bracketed + mapped + ["localhost"]).compactMap { Authority($0)?.plainHost })
      .union(given.subtracting(self.names))
    self.port = port
  }

  /// Returns those of the names that the user gave which are recognized with any port, in the form
  /// of `Authority.plainHost`.
  static func publicNames(_ names: [String]) -> Set<String> {
    Set(names.compactMap { Authority($0)?.plainHost }).filter {
      !NetworkAddress.isLoopback(host: $0)
    }
  }

  /// - Parameter value: the value of Host, or the authority of a target in absolute form. Its port
  ///   must be the one that the client connected to, except behind a given name; without one it is
  ///   80.
  func isOurs(_ value: some StringProtocol) -> Bool {
    guard let authority = Authority(value) else { return false }
    let host = authority.plainHost
    return names.contains(host) || ((authority.port ?? 80) == port && hosts.contains(host))
  }
}
