// SPDX-License-Identifier: MIT
import Foundation

/// The signature in a URL: parameters that grant access for a while, and differ in each URL of the
/// same bytes. A pure value.
///
/// The other parameters identify the resource. Parameters that only resemble a signature belong to
/// it as well, although they may select content: only the origin's validator shows that two such
/// URLs have the same bytes.
struct URLSignature: Sendable, Hashable {
  /// The parameters as spelled in the URL; empty if the URL is not signed. Kept in memory only.
  let text: String
  /// The key that all signatures of the URL share.
  let key: CacheKey
  /// The key of the whole URL.
  private let wholeKey: CacheKey

  init(of url: URL) {
    text = Self.text(of: url.absoluteString)
    var reference = CacheKey.reference(of: url)
    wholeKey = CacheKey(rawValue: reference.textWithoutFragment)
    guard !text.isEmpty, let query = reference.query else {
      key = wholeKey
      return
    }
    let kept = Self.split(query[...]).kept
    reference.query = kept.contains { !$0.isEmpty } ? Self.joined(kept) : nil
    key = CacheKey(rawValue: reference.textWithoutFragment)
  }

  var isSigned: Bool { !text.isEmpty }

  /// The key for content that no other signature selects. A signed URL has the key that it had
  /// before signatures were recognized. No URL has a space.
  var ownKey: CacheKey { isSigned ? wholeKey : CacheKey(rawValue: "\(key.rawValue) unsigned") }

  /// Whether an entry has content that this signature alone selects.
  func isOwn(_ other: CacheKey) -> Bool {
    other == ownKey || Selection.isRepresentation(other, of: ownKey)
  }

  /// Whether URLs with this signature and with one of the others probably have the same bytes:
  /// they differ in nothing but parameters that never select content.
  func differsInRightsAlone(from others: [String]) -> Bool {
    let mine = Self.ambiguous(text)
    return others.contains { Self.ambiguous($0) == mine }
  }

  /// Returns the parameters of a signature that may select content.
  private static func ambiguous(_ signature: String) -> [Substring] {
    signature.split(separator: "&").filter { ambiguousNames.contains(name(of: $0)) }
  }

  /// Returns the signature in the text of a URL; empty if there is none.
  static func text(of url: String) -> String {
    let bytes = url.utf8
    let end = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
    guard let mark = bytes[..<end].firstIndex(of: UInt8(ascii: "?")) else { return "" }
    let query = url[bytes.index(after: mark)..<end]
    return mayBeSigned(query) ? joined(split(query).signature) : ""
  }

  /// Whether a parameter has a name of any scheme. Allocates nothing: most URLs have none, and
  /// every opening of a resource asks.
  private static func mayBeSigned(_ query: Substring) -> Bool {
    let bytes = query.utf8
    var start = bytes.startIndex
    while start < bytes.endIndex {
      let parameter = bytes[start...].prefix { $0 != UInt8(ascii: "&") }
      let name = parameter.prefix { $0 != UInt8(ascii: "=") }
      if name.contains(UInt8(ascii: "%")) || allNames.contains(Substring(name)) { return true }
      guard parameter.endIndex < bytes.endIndex else { return false }
      start = bytes.index(after: parameter.endIndex)
    }
    return false
  }

  private static let allNames = Set(schemes.flatMap(\.names).map { $0[...] })

  private static func joined(_ parameters: [Substring]) -> String {
    parameters.joined(separator: "&")
  }

  private static func split(_ query: Substring) -> (signature: [Substring], kept: [Substring]) {
    let parameters = query.split(separator: "&", omittingEmptySubsequences: false)
    let names = parameters.map(name(of:))
    let present = Set(names)
    let ofSignature = schemes.filter { $0.isPresent(in: present) }
      .reduce(into: Set<String>()) { $0.formUnion($1.names) }
    guard !ofSignature.isEmpty else { return ([], parameters) }
    var parts: (signature: [Substring], kept: [Substring]) = ([], [])
    for (name, parameter) in zip(names, parameters) {
      if ofSignature.contains(name) {
        parts.signature.append(parameter)
      } else {
        parts.kept.append(parameter)
      }
    }
    return parts
  }

  private static func name(of parameter: Substring) -> String {
    let name = parameter.utf8.prefix { $0 != UInt8(ascii: "=") }
    return String(decoding: URL.percentDecoded(name), as: UTF8.self)
  }

  // MARK: Schemes

  /// A way to sign URLs. Names are compared with case, as the services do.
  private struct Scheme: Sendable {
    /// Groups of names: a signed URL has at least one name of each.
    var marks: [Set<String>]
    /// All names of the signature.
    var names: Set<String>

    func isPresent(in names: Set<String>) -> Bool {
      marks.allSatisfy { !$0.isDisjoint(with: names) }
    }

    /// A scheme whose signature is one parameter.
    static func one(_ name: String) -> Scheme { Scheme(marks: [[name]], names: [name]) }

    /// Version 4 of Amazon, and Google's form of it.
    static func fourth(_ prefix: String) -> Scheme {
      let names = [
        "Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature",
        "Security-Token",
      ]
      return Scheme(
        marks: [["\(prefix)Signature"], ["\(prefix)Credential"]],
        names: Set(names.map { prefix + $0 }))
    }
  }

  private static let schemes: [Scheme] =
    [
      .fourth("X-Amz-"), .fourth("X-Goog-"),
      // Version 2 of Amazon and Google; Google's CDN.
      Scheme(
        marks: [["Signature"], ["Expires"], ["AWSAccessKeyId", "GoogleAccessId", "KeyName"]],
        names: [
          "Signature", "Expires", "AWSAccessKeyId", "GoogleAccessId", "KeyName",
          "x-amz-security-token",
        ]),
      // CloudFront, with a canned or a custom policy.
      Scheme(
        marks: [["Signature"], ["Key-Pair-Id"], ["Expires", "Policy"]],
        names: ["Signature", "Key-Pair-Id", "Expires", "Policy"]),
      // A shared access signature of Azure; its `rsc*` select response fields.
      Scheme(
        marks: [["sig"], ["sv"], ["se", "si"]],
        names: [
          "sig", "sv", "se", "si", "st", "sp", "sr", "ss", "srt", "spr", "sip", "sdd", "ses",
          "skoid",
          "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid",
        ]),
      // Akamai.
      .one("hdnts"), .one("hdnea"), .one("hdntl"), .one("__token__"),
    ] + ambiguousNames.sorted().map(Scheme.one)

  /// Names that are not of one service's signatures: such a parameter may be the resource's
  /// identifier.
  private static let ambiguousNames: Set<String> = ["token"]
}
