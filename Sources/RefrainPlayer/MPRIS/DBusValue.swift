// SPDX-License-Identifier: MIT
#if os(Linux)
  /// A value on the bus, of the types that MPRIS uses.
  enum DBusValue: Sendable, Hashable {
    case string(String)
    /// The path of an object.
    case path(String)
    case bool(Bool)
    case int64(Int64)
    case double(Double)
    case strings([String])
    case paths([String])
    case map([String: DBusValue])

    /// The type's signature.
    var signature: String {
      switch self {
      case .string: "s"
      case .path: "o"
      case .bool: "b"
      case .int64: "x"
      case .double: "d"
      case .strings: "as"
      case .paths: "ao"
      case .map: "a{sv}"
      }
    }
  }
#endif
