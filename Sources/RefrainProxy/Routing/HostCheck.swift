// SPDX-License-Identifier: MIT

/// Checks that a request is meant for this proxy. A web page whose own name was made to point here
/// is detected by that name in Host (DNS rebinding).
struct HostCheck: Sendable {
  private let hosts: Set<String>
  private let port: Int
  /// The spellings that clients use, which are recognised without parsing.
  private let common: [[UInt8]]

  /// - Parameters:
  ///   - addresses: numeric addresses, with or without brackets. Invalid ones are ignored.
  ///   - names: further names besides `localhost`.
  ///   - port: the listening port.
  init(addresses: [String], names: [String] = [], port: Int) {
    let bracketed = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    let own = (bracketed + ["localhost"] + names).compactMap { Authority($0) }
    hosts = Set(own.map(\.plainHost))
    self.port = port
    common = hosts.sorted().map { Array("\($0):\(port)".utf8) }
  }

  /// - Parameter value: the value of Host, or the authority of a target in absolute form. Its port
  ///   must be the one that the client connected to; without one it is 80.
  func isOurs(_ value: some StringProtocol) -> Bool {
    guard let authority = Authority(value) else { return false }
    return (authority.port ?? 80) == port && hosts.contains(authority.plainHost)
  }

  func isOurs(_ value: UnsafeRawBufferPointer) -> Bool {
    common.contains { value.elementsEqual($0) } || isOurs(value.text)
  }
}
