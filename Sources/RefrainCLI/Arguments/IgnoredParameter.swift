// SPDX-License-Identifier: MIT
import Refrain
import RefrainStreams

/// A value of `--key-ignore`: a query parameter that cache keys ignore, as `NAME` on every host, or
/// as `HOST/NAME`.
struct IgnoredParameter: Sendable, Hashable {
  var name: String
  /// Nil: every host.
  var host: String?

  /// The first slash ends the host; a slash in a name for every host is written `%2F`.
  init(parsing text: String) throws(InvalidArgument) {
    guard !text.contains("://") else {
      throw InvalidArgument("omit the scheme, as in example.org/token")
    }
    if let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) {
      let host = String(text[..<slash])
      guard HostPattern(host) != nil else {
        throw InvalidArgument(
          "'\(printable(host))' is not a host. Write example.org/token or *.example.org/token, "
            + "without a port")
      }
      self.host = host
      name = String(text[text.index(after: slash)...])
    } else {
      name = text
    }
    try Self.check(name, isForEveryHost: host == nil)
  }

  private static func check(_ name: String, isForEveryHost: Bool) throws(InvalidArgument) {
    guard !name.isEmpty else { throw InvalidArgument("the name of a parameter is missing") }
    guard !name.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || "=&?#".utf8.contains($0) })
    else {
      throw InvalidArgument("a parameter is named without its value, as in 'token'")
    }
    guard !name.dropLast().contains("*") else {
      throw InvalidArgument("'*' stands at the end of a name, as in 'X-Amz-*'")
    }
    guard name != "*" || !isForEveryHost else {
      throw InvalidArgument(
        "the queries of some sites select the content. Name a host, as in example.org/*")
    }
    guard !name.hasPrefix("_HLS_") else {
      throw InvalidArgument(
        "'_HLS_' parameters select a part of a live stream. Omit the option for them")
    }
  }

  static func rule(_ parameters: [IgnoredParameter]) -> CacheKeyRule {
    let everywhere = parameters.filter { $0.host == nil }.map(\.name)
    return parameters.reduce(.forStreams(ignoring: everywhere)) { rule, parameter in
      parameter.host.map { rule.ignoring([parameter.name], on: $0) } ?? rule
    }
  }
}
