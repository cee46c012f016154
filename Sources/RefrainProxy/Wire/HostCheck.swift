// SPDX-License-Identifier: MIT

/// Whether a request is meant for this proxy: a web page whose own name was made to point here
/// sends that name as its Host, and is told by it (DNS rebinding).
struct HostCheck: Sendable {
  private let hosts: Set<String>
  private let port: Int
  /// The spellings that clients use, to be recognised without reading them.
  private let common: [[UInt8]]

  /// - Parameters:
  ///   - addresses: numeric ones, without brackets or with them. Those that are none are passed
  ///     over.
  ///   - names: besides `localhost`.
  ///   - port: that is listened on.
  init(addresses: [String], names: [String] = [], port: Int) {
    let bracketed = addresses.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    let own = (bracketed + ["localhost"] + names).compactMap { Authority($0) }
    hosts = Set(own.map(\.plainHost))
    self.port = port
    common = hosts.sorted().map { Array("\($0):\(port)".utf8) }
  }

  /// - Parameter value: of Host, or the authority of a target in absolute form. Its port must be
  ///   ours, for it is what the client connected to; without one it is 80.
  func isOurs(_ value: some StringProtocol) -> Bool {
    guard let authority = Authority(value) else { return false }
    return (authority.port ?? 80) == port && hosts.contains(authority.plainHost)
  }

  func isOurs(_ value: UnsafeRawBufferPointer) -> Bool {
    common.contains { value.elementsEqual($0) } || isOurs(value.text)
  }
}
