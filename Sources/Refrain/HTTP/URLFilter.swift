// SPDX-License-Identifier: MIT
package import Foundation

/// Says which URLs may be asked for. Two filters are equal where they are one.
package final class URLFilter: Sendable, Hashable {
  private let allowed: @Sendable (URL) -> Bool

  package init(allows allowed: @escaping @Sendable (URL) -> Bool) {
    self.allowed = allowed
  }

  package func allows(_ url: URL) -> Bool { allowed(url) }

  package static func == (left: URLFilter, right: URLFilter) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
