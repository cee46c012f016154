// SPDX-License-Identifier: MIT
import Foundation

/// The resources for which an origin has asked for a pause, by a 503 or a 429 with Retry-After (RFC
/// 9110 §10.2.3, RFC 6585 §4). A pause applies to every request, whoever makes it. A pure value.
package struct OriginRests: Sendable {
  /// A response of the origin whose pause has not ended.
  package struct Rest: Sendable, Hashable {
    package var status: Int
    /// The rest of Retry-After, in whole seconds, at least 1.
    package var seconds: Int64
  }

  private static let capacity = 4096

  private let longest: Double
  /// For each the end of the pause that the origin asked for, and when it may be asked again.
  private var noted: [String: (status: Int, end: Uptime, next: Uptime)] = [:]

  /// - Parameter longest: an origin may be asked again after this time, whatever it requested.
  init(longest: Duration) { self.longest = max(longest.seconds, 0) }

  /// Returns the response that the origin would give now; nil if it may be asked.
  package mutating func rest(of resource: Resource, at now: Moment) -> Rest? {
    guard !noted.isEmpty else { return nil }
    for name in [503, 429].map({ Self.name(of: resource, $0) }) {
      guard let found = noted[name] else { continue }
      if let left = now.uptime.seconds(since: found.next), left < 0 {
        let seconds = -(now.uptime.seconds(since: found.end) ?? 0)
        return Rest(status: found.status, seconds: max(Int64((seconds - 0.001).rounded(.up)), 1))
      }
      noted[name] = nil
    }
    return nil
  }

  /// Records a response that asks for a pause.
  package mutating func note(
    _ resource: Resource, status: Int, headers: HeaderFields, at now: Moment
  ) {
    guard status == 503 || status == 429,
      let wait = headers.retryAfter(at: now.wall), wait > .zero
    else { return }
    if noted.count >= Self.capacity {
      noted = noted.filter { (now.uptime.seconds(since: $0.value.next) ?? 0) < 0 }
    }
    if noted.count >= Self.capacity { noted = [:] }
    let next = now.uptime + min(wait.seconds, longest)
    noted[Self.name(of: resource, status)] = (status, now.uptime + wait.seconds, next)
  }

  /// A 503 is about the resource, a 429 about the client that requested it.
  private static func name(of resource: Resource, _ status: Int) -> String {
    let url = CacheKey(url: resource.url).rawValue
    guard status == 429 else { return url }
    let cookies = Variant.of(resource.headers, names: ["cookie"]) ?? ""
    return "\(url) for:\(Credentials.of(resource)) \(cookies)"
  }
}
