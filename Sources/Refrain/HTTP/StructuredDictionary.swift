// SPDX-License-Identifier: MIT
import RegexBuilder

/// A Dictionary of structured fields (RFC 8941 §3.2), parsed strictly by §4.2.2. Parameters and the
/// contents of inner lists are checked, but not kept.
struct StructuredDictionary: Sendable, Hashable {
  enum Value: Sendable, Hashable {
    case integer(Int64)
    case boolean(Bool)
    /// A decimal, a string, a token, a byte sequence or an inner list.
    case other

    /// - Parameter text: nil: a name alone is true.
    fileprivate init(_ text: Substring?) {
      switch text {
      case nil, "?1": self = .boolean(true)
      case "?0": self = .boolean(false)
      case let text?: self = Int64(text).map { .integer($0) } ?? .other
      }
    }
  }

  /// Of several members with one name, the last counts.
  private(set) var members: [String: Value] = [:]

  /// Nil if any part of the text violates the syntax.
  init?(_ text: String) {
    let key = #/[a-z*][a-z0-9_.*\-]*/#
    let item = ChoiceOf {
      // A decimal, an integer.
      #/-?[0-9]{1,12}\.[0-9]{1,3}/#
      #/-?[0-9]{1,15}/#
      // A string, a token, a byte sequence, a Boolean.
      #/"(?:[ !#-\[\]-~]|\\["\\])*"/#
      #/[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:\/\-]*/#
      #/:[A-Za-z0-9+\/=]*:/#
      #/\?[01]/#
    }
    let parameters = ZeroOrMore {
      #/;\x20*/#
      key
      Optionally {
        "="
        item
      }
    }
    let list = Regex {
      #/\(\x20*/#
      ZeroOrMore {
        item
        parameters
        // Spaces separate the items.
        ChoiceOf {
          #/\x20+/#
          Lookahead(")")
        }
      }
      ")"
    }
    let member = Regex {
      Capture(key)
      Optionally {
        "="
        Capture {
          ChoiceOf {
            item
            list
          }
        }
      }
      parameters
      #/[ \t]*/#
      Capture(#/(?:,[ \t]*)?/#)
    }
    var rest = text.drop { $0 == " " }
    while !rest.isEmpty {
      guard let match = rest.prefixMatch(of: member) else { return nil }
      let (_, name, value, comma) = match.output
      members[String(name)] = Value(value)
      rest = rest[match.range.upperBound...]
      // A comma separates two members.
      guard rest.isEmpty == comma.isEmpty else { return nil }
    }
  }
}
