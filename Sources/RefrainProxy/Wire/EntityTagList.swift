// SPDX-License-Identifier: MIT
internal import Refrain

/// `"*"` or a list of entity tags: If-Match and If-None-Match (RFC 9110 §13.1.1, §13.1.2).
struct EntityTagList: Sendable, Hashable {
  private var isAny = false
  private var tags: [EntityTag] = []

  /// Parses a list. An invalid tag is kept unchanged: some servers omit the quotes, and clients
  /// return the tag that they received. It matches only the same text, and only weakly.
  init(_ value: String) {
    let value = value.trimmingOWS
    if value == "*" {
      isAny = true
      return
    }
    var rest = value.utf8[...]
    while !rest.isEmpty {
      // A comma within quotes belongs to the tag. There are no escapes (RFC 9110 §8.8.3).
      var isQuoted = false
      let element = rest.prefix { byte in
        if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
        return isQuoted || byte != UInt8(ascii: ",")
      }
      rest = rest[element.endIndex...].dropFirst()
      let text = value[element.startIndex..<element.endIndex].trimmingOWS
      if !text.isEmpty { tags.append(EntityTag(String(text))) }
    }
  }

  /// Compares strongly (RFC 9110 §8.8.3.2); `*` matches any existing representation.
  func containsStrongly(_ tag: EntityTag?) -> Bool {
    if isAny { return true }
    guard let tag, tag.kind == .strong else { return false }
    return tags.contains(tag)
  }

  func containsWeakly(_ tag: EntityTag?) -> Bool {
    if isAny { return true }
    guard let tag else { return false }
    return tags.contains { $0.opaque == tag.opaque }
  }
}
