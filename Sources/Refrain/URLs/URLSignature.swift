// SPDX-License-Identifier: MIT
import Foundation

/// The signature in a URL: parameters that grant access for a while, and differ in each URL of the
/// same bytes. A pure value.
///
/// A signature is recognized only whole, by names that belong to one service: a parameter that merely
/// resembles one may select content.
enum URLSignature {
  /// Returns a query without its signature; nil if nothing else is left.
  static func removed(from query: String) -> String? {
    // Most URLs have no signature, and every opening of a resource asks.
    guard mayBeSigned(query) else { return query }
    let parameters = query.split(separator: "&", omittingEmptySubsequences: false)
    let names = parameters.map(name(of:))
    let present = Set(names)
    let ofSignature = schemes.filter { $0.isPresent(in: present) }
      .reduce(into: Set<String>()) { $0.formUnion($1.names) }
    guard !ofSignature.isEmpty else { return query }
    let kept = zip(names, parameters).filter { !ofSignature.contains($0.0) }.map(\.1)
    return kept.contains { !$0.isEmpty } ? kept.joined(separator: "&") : nil
  }

  /// Whether a parameter has a name of any scheme. Allocates nothing.
  private static func mayBeSigned(_ query: String) -> Bool {
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

  private static let schemes: [Scheme] = [
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
        "sig", "sv", "se", "si", "st", "sp", "sr", "ss", "srt", "spr", "sip", "sdd", "ses", "skoid",
        "sktid", "skt", "ske", "sks", "skv", "saoid", "suoid", "scid",
      ]),
    // Akamai.
    .one("hdnts"), .one("hdnea"), .one("hdntl"), .one("__token__"),
  ]
}
