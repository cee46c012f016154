// SPDX-License-Identifier: MIT

extension MediaReader {
  /// Whether the response that is known names a document (`DocumentRules`), and is not too long.
  var isDocument: Bool {
    generation.withState { state in
      let known = state.representation
      guard known.info?.length ?? 0 <= known.longestDocument else { return false }
      return known.isRequestedAsDocument || known.isNamedDocument
    }
  }

  /// The key of the first resource of the group to which the resource is known to belong; nil if
  /// none is.
  package var group: CacheKey? { entry.group.map { CacheKey(rawValue: $0) } }
}
