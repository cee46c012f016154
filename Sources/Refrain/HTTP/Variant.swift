// SPDX-License-Identifier: MIT

/// Identifies which of several representations of a URL a request selects (RFC 9111 §4.1).
package enum Variant {
  /// Returns the names in Vary, lower case, without those that are equal in all our requests: no
  /// coding is ever accepted.
  static func names(in headers: HeaderFields) -> [String] {
    let names = headers.values(of: "Vary").flatMap {
      $0.split(separator: ",").map { $0.trimmingOWS.lowercased() }
    }
    return Set(names).subtracting(["", "*", "accept-encoding", "range", "if-range"]).sorted()
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
    return KeyHash.name(of: CacheKey(rawValue: text.joined(separator: "\n")))
  }
}
