// SPDX-License-Identifier: MIT
public import Foundation

/// The identity of a whole resource, never of a range of it. Two URLs with one key share one entry.
public struct CacheKey: Sendable, Hashable, Codable, RawRepresentable, CustomStringConvertible {
  public var rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  /// Creates a key from the normalized URL (RFC 3986 §6.2.2): scheme and host in lower case,
  /// without the default port, without `.` and `..` in its path, and with nothing percent-encoded
  /// that need not be. The key has no fragment, which never reaches an origin (RFC 9110 §4.2.5),
  /// and no user and password, because it is stored and shown.
  public init(url: URL) { rawValue = Self.reference(of: url).textWithoutFragment }

  static func reference(of url: URL) -> URIReference {
    URIReference(url.absoluteString).normalized
  }

  /// Returns the key of the same resource in a partition of the cache. No URL has a space.
  func `in`(partition: String) -> CacheKey {
    let name = partition.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed) ?? partition
    return CacheKey(rawValue: "\(rawValue) in:\(name)")
  }

  public var description: String { rawValue }
}

/// The name of a key's directory: 128 bits of FNV-1a in hexadecimal. The record holds the whole
/// key: two colliding ones only displace each other.
enum KeyHash {
  /// All representations of a resource have the second half in common, and so a shard.
  static func name(of key: CacheKey) -> String {
    hash(of: key.rawValue).prefix(16) + family(of: key)
  }

  static func family(of key: CacheKey) -> String {
    String(hash(of: (Selection.resourceKey(of: key) ?? key).rawValue).suffix(16))
  }

  static func hash(of text: String) -> String {
    let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013B
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    for byte in text.utf8 {
      hash ^= UInt128(byte)
      hash = hash &* prime
    }
    let text = String(hash, radix: 16)
    return String(repeating: "0", count: 32 - text.count) + text
  }

  /// One of 256 directories.
  static func shard(of name: String) -> String { String(name.suffix(2)) }
}

/// The marks after a resource's own key in those of its representations, and of its responses for
/// several people. No URL has a space.
enum Selection {
  static let variantMark = " vary:"
  static let credentialsMark = " for:"

  static func isRepresentation(_ other: CacheKey, ofAny keys: Set<CacheKey>) -> Bool {
    resourceKey(of: other).map(keys.contains) ?? false
  }

  /// Returns the key of the resource of which another key is a representation; nil if it is none.
  static func resourceKey(of representation: CacheKey) -> CacheKey? {
    let text = representation.rawValue
    guard text.utf8.contains(UInt8(ascii: " ")) else { return nil }
    return [variantMark, credentialsMark].compactMap { text.firstRange(of: $0)?.lowerBound }.min()
      .map { CacheKey(rawValue: String(text[..<$0])) }
  }
}

/// The representation of a URL that a request selects (RFC 9111 §4.1).
package enum Variant {
  /// Returns the names in Vary in lower case, without those that are equal in all our requests.
  package static func names(in headers: HeaderFields) -> [String] {
    Set(headers.members(of: "Vary")).subtracting(["*", "accept-encoding", "range", "if-range"])
      .sorted()
  }

  /// Returns a hash of the request's values, which may be secret; nil if there is no name.
  package static func of(_ request: HeaderFields, names: [String]) -> String? {
    guard !names.isEmpty else { return nil }
    let text = names.map { name in
      var values = request.values(of: name).map { $0.trimmingOWS }
      // Sent in its place (`HeaderFields.addDefaults`).
      if name == "accept", values.isEmpty { values = ["*/*"] }
      return "\(name): \(values.joined(separator: ", "))"
    }
    return KeyHash.hash(of: text.joined(separator: "\n"))
  }
}

/// Derives cache keys that ignore some parameters of a query, such as tokens that differ in each
/// URL of the same bytes.
///
/// ```swift
/// let rule = CacheKeyRule(ignoring: ["token", "X-Amz-*"])
///   .ignoring(["sig"], on: "*.example.com")
/// configuration.cacheKey = rule.key(for:)
/// ```
///
/// The rest of the URL is the key, as in `CacheKey.init(url:)`; the other parameters keep their
/// order and spelling. Requests go to the URL as given. Common signatures are ignored without a
/// rule only (`MediaCache.Configuration.cacheKey`).
///
/// - Warning: Ignore no parameters that select content: URLs that differ in nothing else share one
///   entry. Nobody checks an ignored token, so a shared cache (`MediaCache.Configuration.isShared`)
///   must not ignore parameters that grant access.
public struct CacheKeyRule: Sendable, Hashable {
  private struct Parameter: Sendable, Hashable {
    private let bytes: [UInt8]
    private let isPrefix: Bool
    /// Nil: every host.
    let host: HostPattern?

    init(_ text: String, on host: HostPattern? = nil) {
      isPrefix = text.utf8.last == UInt8(ascii: "*")
      bytes = URL.percentDecoded(isPrefix ? text.utf8.dropLast() : text.utf8[...])
      self.host = host
    }

    /// - Parameter name: percent-decoded.
    func matches(_ name: [UInt8]) -> Bool { isPrefix ? name.starts(with: bytes) : name == bytes }
  }

  private var ignored: [Parameter]
  private let kept: [Parameter]

  /// Creates a rule that ignores parameters on every host.
  ///
  /// Parameters are separated by `&` alone (not `;`), and a name ends at the first `=`. All
  /// parameters of a name are ignored. If none remains, the key has no `?`.
  ///
  /// - Parameters:
  ///   - names: the names, as in a URL: case is significant, and percent-encoding is not. A name
  ///     that ends in `*` stands for all names with that beginning; `%2A` is an asterisk.
  ///   - kept: names, as in `names`, that are never ignored, on no host.
  public init(ignoring names: [String] = [], keeping kept: [String] = []) {
    ignored = names.map { Parameter($0) }
    self.kept = kept.map { Parameter($0) }
  }

  /// Returns a rule that also ignores parameters on some hosts.
  ///
  /// - Parameters:
  ///   - names: the names, as in `init(ignoring:)`.
  ///   - host: `example.com`, or `*.example.com` for all hosts below it, each with any port. Text
  ///     that is no host does not change the rule.
  public func ignoring(_ names: [String], on host: String) -> CacheKeyRule {
    guard let pattern = HostPattern(host) else { return self }
    var rule = self
    rule.ignored += names.map { Parameter($0, on: pattern) }
    return rule
  }

  /// Returns the key of a URL by this rule.
  public func key(for url: URL) -> CacheKey {
    let host = CacheKey.reference(of: url).authority.flatMap { Authority($0)?.plainHost } ?? ""
    let ignored = ignored.filter { $0.host?.matches(host: host, port: nil) ?? true }
    return CacheKey(url) { names in
      names.filter { name in
        ignored.contains { $0.matches(name) } && !kept.contains { $0.matches(name) }
      }
    }
  }
}

extension CacheKey {
  /// Creates a key from the normalized URL without its signature, which is recognized only whole: a
  /// parameter that merely resembles one may select content.
  init(withoutSignature url: URL) {
    self.init(url) { present in
      signatures.filter { $0.marks.allSatisfy { !$0.isDisjoint(with: present) } }
        .reduce(into: []) { $0.formUnion($1.all) }
    }
  }

  /// `ignored` returns those of the names in the query, percent-decoded, that are left out.
  fileprivate init(_ url: URL, without ignored: (Set<[UInt8]>) -> Set<[UInt8]>) {
    var reference = Self.reference(of: url)
    if let query = reference.query {
      let all = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        .map { (URL.percentDecoded($0.prefix { $0 != UInt8(ascii: "=") }), Substring($0)) }
      let ignored = ignored(Set(all.map(\.0)))
      let kept = all.filter { !ignored.contains($0.0) }.map(\.1)
      if kept.count < all.count {
        reference.query = kept.allSatisfy(\.isEmpty) ? nil : kept.joined(separator: "&")
      }
    }
    rawValue = reference.textWithoutFragment
  }
}

/// The names of the parameters that sign a URL, by service: a signed URL has at least one name of
/// each of the groups `marks`. Compared with case, as the services do.
private let signatures: [(marks: [Set<[UInt8]>], all: Set<[UInt8]>)] = [
  // Version 4 of Amazon, and Google's form of it.
  (
    "X-Amz-Algorithm X-Amz-Credential X-Amz-Date X-Amz-SignedHeaders X-Amz-Signature",
    "X-Amz-Expires X-Amz-Security-Token"
  ),
  (
    "X-Goog-Algorithm X-Goog-Credential X-Goog-Date X-Goog-SignedHeaders X-Goog-Signature",
    "X-Goog-Expires X-Goog-Security-Token"
  ),
  // Version 2 of Amazon and Google; Google's CDN.
  ("Signature Expires AWSAccessKeyId|GoogleAccessId|KeyName", "x-amz-security-token"),
  // CloudFront, with a canned or a custom policy.
  ("Signature Key-Pair-Id Expires|Policy", ""),
  // A shared access signature of Azure; its `rsc*` select response fields.
  ("sig sv se|si", "st sp sr ss srt spr sip sdd ses skoid sktid skt ske sks skv saoid suoid scid"),
  // Akamai.
  ("hdnts", ""), ("hdnea", ""), ("hdntl", ""), ("__token__", ""),
].map { marks, others in
  func names(_ text: Substring, _ separator: Character) -> Set<[UInt8]> {
    Set(text.split(separator: separator).map { Array($0.utf8) })
  }
  let marks = marks.split(separator: " ").map { names($0, "|") }
  return (marks, marks.reduce(names(others[...], " ")) { $0.union($1) })
}
