// SPDX-License-Identifier: MIT

/// The address on which a proxy listens.
public struct ListeningAddress: Sendable, Hashable, CustomStringConvertible {
  /// A numeric address, without brackets: `127.0.0.1`, `::1`.
  public var host: String
  public var port: Int

  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// As in a URL: `127.0.0.1:8573`, `[::1]:8573`.
  public var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
