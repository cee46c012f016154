// SPDX-License-Identifier: MIT
package import Foundation

/// Decides which URLs may be requested. Filters are equal only if identical.
package final class URLFilter: Sendable, Hashable {
  private let allowed: @Sendable (URL) -> Bool

  package init(allows allowed: @escaping @Sendable (URL) -> Bool) {
    self.allowed = allowed
  }

  package func allows(_ url: URL) -> Bool { allowed(url) }

  package static func == (left: URLFilter, right: URLFilter) -> Bool { left === right }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
