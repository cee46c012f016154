// SPDX-License-Identifier: MIT

/// The address of a host on the command line: `HOST:PORT:ADDRESS`, as in curl(1); several addresses
/// are separated by commas.
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
