// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The allowed hosts of a proxy, which can change while it runs. May be used from any thread.
final class CurrentHosts: Sendable {
  private let current: Mutex<AllowedHosts>
  private let changes = Atomic<UInt64>(0)

  static let remedy = "Allow the host (--allow-host) to fetch from it."

  init(_ hosts: AllowedHosts) { current = Mutex(hosts) }

  /// Whether there are any; without, all hosts are allowed.
  var areNamed: Bool { !current.withLock { $0.isEmpty } }

  /// The number of replacements.
  var revision: UInt64 { changes.load(ordering: .acquiring) }

  func replace(with hosts: AllowedHosts) {
    current.withLock { $0 = hosts }
    changes.wrappingAdd(1, ordering: .releasing)
  }

  /// Whether the URL's host is named.
  func name(_ url: URL) -> Bool {
    let hosts = current.withLock { $0 }
    return !hosts.isEmpty && hosts.allows(url)
  }

  /// Returns a filter that always follows the hosts of the moment.
  ///
  /// - Parameter elsePublicOnly: whether it allows only public hosts while none are named.
  func filter(elsePublicOnly: Bool) -> URLFilter {
    URLFilter(
      remedy: Self.remedy, referred: elsePublicOnly ? ReferredHosts() : nil,
      isPublicOnly: { [self] in !areNamed },
      allows: { [self] url in
        areNamed ? name(url) : !elsePublicOnly || !PrivateNetwork.contains(url)
      })
  }

  /// Returns a filter that allows what belongs to an origin, and the hosts of the moment.
  func filter(besides scope: OriginScope?) -> URLFilter {
    URLFilter(remedy: Self.remedy) { [self] url in scope?.contains(url) == true || name(url) }
  }
}
