// SPDX-License-Identifier: MIT

/// The requests that select a stored response, by the fields that its Vary names (RFC 9111 §4.1). A
/// pure value.
struct Selection: Sendable, Hashable {
  /// The names in Vary.
  var varying: [String]
  /// A hash of their values in the answered request.
  var variant: String?

  init(headers: HeaderFields, variant: String?) {
    varying = Variant.names(in: headers)
    self.variant = variant
  }

  /// Returns the key of the representation that a request selects; nil if it is this one.
  func otherKey(than key: CacheKey, for request: HeaderFields) -> CacheKey? {
    guard let wanted = Variant.of(request, names: varying), wanted != variant else { return nil }
    return CacheKey(rawValue: "\(key.rawValue)\(Self.variantMark)\(wanted)")
  }

  /// A representation may vary by more fields than the one found first, and so on.
  static let longestChain = 6

  private static let variantMark = " vary:"
  static let credentialsMark = " for:"

  /// Whether a key is that of another representation of a resource with one of these keys.
  static func isRepresentation(_ other: CacheKey, ofAny keys: Set<CacheKey>) -> Bool {
    bases(of: other).contains(where: keys.contains)
  }

  /// Returns the key of the resource of which another key is a representation; nil if it is none.
  static func resourceKey(of representation: CacheKey) -> CacheKey? {
    bases(of: representation).min { $0.rawValue.utf8.count < $1.rawValue.utf8.count }
  }

  /// Returns the beginnings of a key, each before a mark. No URL has a space.
  private static func bases(of key: CacheKey) -> [CacheKey] {
    let text = key.rawValue
    guard text.utf8.contains(UInt8(ascii: " ")) else { return [] }
    return [variantMark, credentialsMark].flatMap { text.ranges(of: $0) }
      .map { CacheKey(rawValue: String(text[..<$0.lowerBound])) }
  }
}

/// Identifies which of several representations of a URL a request selects (RFC 9111 §4.1).
package enum Variant {
  /// Returns the names in Vary, lower case, without those that are equal in all our requests: no
  /// coding is ever accepted.
  package static func names(in headers: HeaderFields) -> [String] {
    let names = headers.members(of: "Vary").map { $0.lowercased() }
    return Set(names).subtracting(["*", "accept-encoding", "range", "if-range"]).sorted()
  }

  /// Returns a hash of the request's values for these names; nil if there is no name. A hash,
  /// since values may be secret, and it is written to disk.
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
