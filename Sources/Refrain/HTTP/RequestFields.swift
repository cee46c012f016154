// SPDX-License-Identifier: MIT

/// Fields of requests to origins.
extension HeaderFields {
  /// The names, in lower case, of the fields that only describe the program, the page from which it
  /// comes, and what it can play. Any other field may be a credential, under whatever name.
  static let harmlessNames: Set<String> = [
    "user-agent", "accept", "accept-language", "referer", "origin",
  ]

  /// The fields that any host may receive.
  package var harmless: HeaderFields {
    HeaderFields(
      fields.lazy.filter { Self.harmlessNames.contains($0.name.lowercased()) }
        .map { ($0.name, $0.value) })
  }

  /// Adds the fields that are missing, without which some origins, and firewalls before them, refuse
  /// a request. `Accept: */*` means the same as no Accept (RFC 9110 §12.5.1).
  package mutating func addDefaults() {
    if self["Accept"] == nil { append("Accept", "*/*") }
    if self["User-Agent"] == nil { append("User-Agent", "Refrain") }
  }
}
