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
      reference.query = QueryParameters(query).text { name in
        kept.contains { $0.matches(name) } || !names.contains { $0.matches(name) }
      }
    }
    return CacheKey(rawValue: reference.textWithoutFragment)
  }
}

/// The parameters of a query, in order: `&` alone separates them, and a name ends at the first `=`.
private struct QueryParameters {
  private var all: [(name: [UInt8], text: Substring)]

  init(_ query: String) {
    all = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map {
      (URL.percentDecoded($0.prefix { $0 != UInt8(ascii: "=") }), Substring($0))
    }
  }

  /// Percent-decoded.
  var names: Set<[UInt8]> { Set(all.map(\.name)) }

  /// Returns the query without some of its parameters; nil if none is left.
  func text(keeping isKept: ([UInt8]) -> Bool) -> String? {
    let kept = all.filter { isKept($0.name) }.map(\.text)
    guard kept.count == all.count || kept.contains(where: { !$0.isEmpty }) else { return nil }
    return kept.joined(separator: "&")
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

/// The signature in a URL: parameters that grant access for a while, and differ in each URL of the
/// same bytes. It is recognized only whole, by names that belong to one service: a parameter that
/// merely resembles one may select content.
extension CacheKey {
  /// Creates a key from the normalized URL without its signature.
  init(withoutSignature url: URL) {
    var reference = Self.reference(of: url)
    if let query = reference.query {
      let parameters = QueryParameters(query)
      let ofSignature = SignatureScheme.names(in: parameters.names)
      if !ofSignature.isEmpty {
        reference.query = parameters.text { !ofSignature.contains($0) }
      }
    }
    rawValue = reference.textWithoutFragment
  }
}

/// A way to sign URLs. Names are compared with case, as the services do.
private struct SignatureScheme: Sendable {
  /// Groups of names: a signed URL has at least one name of each.
  private var marks: [Set<[UInt8]>]
  /// All names of the signature.
  private var names: Set<[UInt8]>

  private init(marks: [[String]], names: [String]) {
    self.marks = marks.map { Set($0.map { Array($0.utf8) }) }
    self.names = Set(names.map { Array($0.utf8) })
  }

  /// Returns the names of the signatures that are whole among the names of a query.
  static func names(in present: Set<[UInt8]>) -> Set<[UInt8]> {
    all.filter { $0.marks.allSatisfy { !$0.isDisjoint(with: present) } }
      .reduce(into: []) { $0.formUnion($1.names) }
  }

  /// A scheme whose signature is one parameter.
  private static func one(_ name: String) -> Self { Self(marks: [[name]], names: [name]) }

  /// Version 4 of Amazon, and Google's form of it.
  private static func fourth(_ prefix: String) -> Self {
    let names = [
      "Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature", "Security-Token",
    ]
    return Self(
      marks: [["\(prefix)Signature"], ["\(prefix)Credential"]], names: names.map { prefix + $0 })
  }

  private static let all: [Self] = [
    .fourth("X-Amz-"), .fourth("X-Goog-"),
    // Version 2 of Amazon and Google; Google's CDN.
    Self(
      marks: [["Signature"], ["Expires"], ["AWSAccessKeyId", "GoogleAccessId", "KeyName"]],
      names: [
        "Signature", "Expires", "AWSAccessKeyId", "GoogleAccessId", "KeyName",
        "x-amz-security-token",
      ]),
    // CloudFront, with a canned or a custom policy.
    Self(
      marks: [["Signature"], ["Key-Pair-Id"], ["Expires", "Policy"]],
      names: ["Signature", "Key-Pair-Id", "Expires", "Policy"]),
    // A shared access signature of Azure; its `rsc*` select response fields.
    Self(
      marks: [["sig"], ["sv"], ["se", "si"]],
      names: [
        "sig", "sv", "se", "si", "st", "sp", "sr", "ss", "srt", "spr", "sip", "sdd", "ses", "skoid",
        "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid",
      ]),
    // Akamai.
    .one("hdnts"), .one("hdnea"), .one("hdntl"), .one("__token__"),
  ]
}
