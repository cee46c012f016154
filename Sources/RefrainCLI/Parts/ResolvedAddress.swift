// SPDX-License-Identifier: MIT

/// Where a host is to be found, as it is written on the command line: `HOST:PORT:ADDRESS`, as curl(1)
/// has it; several addresses with commas between them.
enum ResolvedAddress {
  static func parse(_ text: String) throws -> String {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, !parts[2].isEmpty,
      let port = Int(parts[1]), (1...65_535).contains(port)
    else {
      throw InvalidArgument(
        "an address is written 'host:port:address', as in 'a.example:443:10.0.0.7'")
    }
    return text
  }
}
