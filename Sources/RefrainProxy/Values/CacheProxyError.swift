// SPDX-License-Identifier: MIT

/// Why a proxy cannot be created or cannot run: a code to act on, what failed and why, and what to
/// do about it.
public struct CacheProxyError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: String, Sendable, Hashable, Codable {
    /// The configuration would make an open proxy, or contains an invalid token, origin, host,
    /// name, path or limit.
    case invalidConfiguration
    /// The port is in use.
    case addressInUse
    /// Nothing can listen at the address.
    case addressUnavailable
    /// The proxy does not listen yet, so that its port is unknown.
    case notListening
    /// The proxy runs already.
    case alreadyRunning
    /// The proxy has ended.
    case closed
  }

  public var code: Code
  /// The failure and its cause, in one sentence.
  public var reason: String
  /// The action that may help the user, in one sentence.
  public var remedy: String

  public init(_ code: Code, _ reason: String, remedy: String) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
  }

  public var description: String { "\(reason) \(remedy)" }
}
