// SPDX-License-Identifier: MIT
import RefrainProxy

/// The value of `--methods`: names separated by commas, or `all`.
enum RelayedMethodsArgument {
  static func parse(_ text: String) throws(InvalidArgument) -> CacheProxy.RelayedMethods {
    if text.lowercased() == "all" { return .all }
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingPrefix { $0 == " " }.uppercased()
    }
    guard names.allSatisfy({ isToken($0) }) else {
      throw InvalidArgument(
        "methods are separated by commas, as in POST,PUT,DELETE; all stands for every method")
    }
    return .only(Set(names))
  }

  /// Whether the name is a token (RFC 9110 §5.6.2) with no punctuation but `-`, as in registered
  /// methods.
  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
