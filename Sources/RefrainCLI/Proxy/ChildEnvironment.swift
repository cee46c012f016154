// SPDX-License-Identifier: MIT

/// The environment of a program that uses a proxy on this computer. A pure value.
enum ChildEnvironment {
  private static let host = "127.0.0.1"

  /// Returns the variables as `NAME=value`. If they name a network proxy (`http_proxy`), this
  /// computer is excepted: otherwise requests to it would go through that proxy too.
  static func reaching(_ environment: [String: String]) -> [String] {
    var environment = environment
    if ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].contains(where: {
      environment[$0]?.isEmpty == false
    }) {
      // Some programs read one spelling, some the other.
      let known = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
      for name in ["no_proxy", "NO_PROXY"] {
        let value = environment[name] ?? known
        environment[name] = value.isEmpty ? host : value == "*" ? value : "\(value),\(host)"
      }
    }
    return environment.map { "\($0)=\($1)" }
  }
}
