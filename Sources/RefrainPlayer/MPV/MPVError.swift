// SPDX-License-Identifier: MIT
#if os(Linux)
  /// Why libmpv cannot be used: it is missing, too old, or cannot be set up.
  public struct MPVError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The failure and its cause, in one sentence.
    public var reason: String
    /// The action that may help the user, in one sentence.
    public var remedy: String

    public init(_ reason: String, remedy: String) {
      self.reason = reason
      self.remedy = remedy
    }

    public var description: String { "\(reason) \(remedy)" }
  }
#endif
