// SPDX-License-Identifier: MIT
public import Foundation

/// Derives cache keys that ignore some parameters of a query, such as tokens that differ in each
/// URL of the same bytes.
///
/// ```swift
/// let rule = CacheKeyRule(ignoring: ["token", "X-Amz-*"])
///   .ignoring(["sig"], on: "*.example.com")
/// configuration.cacheKey = rule.key(for:)
/// ```
///
/// The rest of the URL is the key, as in `CacheKey.init(url:)`: the other parameters keep their
/// order and spelling. Requests go to the URL as given, with all of its parameters.
///
/// Without a rule, common signatures are ignored (`MediaCache.Configuration.cacheKey`). A rule decides
/// alone.
///
/// - Warning: Ignore only parameters that do not select content: URLs that differ in nothing else
///   share one entry. Stored bytes are served without a check of an ignored token. A shared cache
///   (`MediaCache.Configuration.isShared`) must therefore not ignore parameters that grant access.
public struct CacheKeyRule: Sendable, Hashable {
  private struct Parameter: Sendable, Hashable {
    var name: ParameterPattern
    /// Nil: every host.
    var host: HostPattern?
  }

  private var ignored: [Parameter]
  /// Parameters that are never ignored.
  private let kept: [ParameterPattern]

  /// Creates a rule that ignores parameters on every host.
  ///
  /// Parameters are separated by `&` alone (not `;`), and a name ends at the first `=`. All
  /// parameters of a name are ignored, with or without a value. If no parameter remains, the key
  /// has no `?`.
  ///
  /// - Parameters:
  ///   - names: the names, as in a URL: case is significant, and percent-encoding is not. A name that
  ///     ends in `*` stands for all names with that beginning; `%2A` is an asterisk.
  ///   - kept: names, as in `names`, that are never ignored, on no host: those that always select
  ///     content.
  public init(ignoring names: [String] = [], keeping kept: [String] = []) {
    ignored = names.map { Parameter(name: ParameterPattern($0)) }
    self.kept = kept.map { ParameterPattern($0) }
  }

  /// Returns a rule that also ignores parameters on some hosts.
  ///
  /// - Parameters:
  ///   - names: the names, as in `init(ignoring:)`.
  ///   - host: `example.com` is that host only, `*.example.com` all hosts below it, each with any
  ///     port. The rule does not change for text that is no host.
  public func ignoring(_ names: [String], on host: String) -> CacheKeyRule {
    guard let pattern = HostPattern(host) else { return self }
    var rule = self
    rule.ignored += names.map { Parameter(name: ParameterPattern($0), host: pattern) }
    return rule
  }

  /// Returns the key of a URL by this rule.
  public func key(for url: URL) -> CacheKey {
    var reference = CacheKey.reference(of: url)
    if let query = reference.query, let authority = reference.authority {
      let names = ignored.filter { $0.host?.matches(authority: authority) ?? true }.map(\.name)
      reference.query = Self.query(query, without: names, keeping: kept)
    }
    return CacheKey(rawValue: reference.textWithoutFragment)
  }

  /// Returns the query unchanged if it has none of the parameters, and nil if it has no others.
  private static func query(
    _ query: String, without names: [ParameterPattern], keeping kept: [ParameterPattern]
  ) -> String? {
    let parameters = query.utf8.split(
      separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    let left = parameters.filter { parameter in
      let name = URL.percentDecoded(parameter.prefix { $0 != UInt8(ascii: "=") })
      return kept.contains { $0.matches(name) } || !names.contains { $0.matches(name) }
    }
    guard left.count < parameters.count else { return query }
    guard left.contains(where: { !$0.isEmpty }) else { return nil }
    return left.map { String(Substring($0)) }.joined(separator: "&")
  }
}

/// The name of a query parameter, or the beginning of names.
struct ParameterPattern: Sendable, Hashable {
  private var bytes: [UInt8]
  private var isPrefix: Bool

  init(_ text: String) {
    isPrefix = text.utf8.last == UInt8(ascii: "*")
    bytes = URL.percentDecoded(isPrefix ? text.utf8.dropLast() : text.utf8[...])
  }

  /// - Parameter name: percent-decoded.
  func matches(_ name: [UInt8]) -> Bool {
    isPrefix ? name.starts(with: bytes) : name == bytes
  }
}
