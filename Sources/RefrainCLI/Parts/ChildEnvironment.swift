// SPDX-License-Identifier: MIT

/// The environment of a program that asks a proxy on this computer. A pure value.
enum ChildEnvironment {
  private static let host = "127.0.0.1"

  /// The same, as `NAME=value`; where it names a proxy for the network (`http_proxy`), with an
  /// exception for this computer: otherwise even what is here would be asked of that one.
  static func reaching(_ environment: [String: String]) -> [String] {
    var environment = environment
    if ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].contains(where: {
      environment[$0]?.isEmpty == false
    }) {
      // Some programs know the one spelling, some the other.
      let known = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
      for name in ["no_proxy", "NO_PROXY"] {
        let value = environment[name] ?? known
        environment[name] = value.isEmpty ? host : value == "*" ? value : "\(value),\(host)"
      }
    }
    return environment.map { "\($0)=\($1)" }
  }
}
