// SPDX-License-Identifier: MIT

/// A request for a path, as scripts and the log see it.
public struct ReceivedRequest: Sendable, Hashable {
  /// Counts from 1 since the path's script was set.
  public let number: Int
  public let method: String
  /// As in the request line, with the query.
  public let target: String
  public let headers: [Field]

  /// The `Range` header field as received.
  public var range: String? { headers.first("Range") }
}

/// The requests to which a rule applies.
public enum RequestMatcher: Sendable {
  case all
  /// The first n since the script was set.
  case first(Int)
  /// The request with this number, counted from 1.
  case number(Int)
  /// This request and all after it.
  case from(Int)
  case `where`(@Sendable (ReceivedRequest) -> Bool)

  func matches(_ request: ReceivedRequest) -> Bool {
    switch self {
    case .all: true
    case .first(let count): request.number <= count
    case .number(let number): request.number == number
    case .from(let number): request.number >= number
    case .where(let condition): condition(request)
    }
  }
}

/// The faults of the requests for a path. The faults of every matching rule apply, in the order of
/// the rules.
///
/// ```swift
/// origin.script("/song.wav", .on(.first(2), .drop(at: .body(1000))).on(.number(4), .ignoreRange))
/// ```
public struct FaultScript: Sendable {
  public struct Rule: Sendable {
    public var matcher: RequestMatcher
    public var faults: [Fault]

    public init(_ matcher: RequestMatcher, _ faults: [Fault]) {
      self.matcher = matcher
      self.faults = faults
    }
  }

  public var rules: [Rule]

  /// A script with these rules; by default without faults.
  public init(_ rules: [Rule] = []) { self.rules = rules }

  /// A script of one rule.
  public static func on(_ matcher: RequestMatcher, _ faults: Fault...) -> FaultScript {
    FaultScript([Rule(matcher, faults)])
  }

  /// A script of one rule.
  public static func on(_ matcher: RequestMatcher, _ faults: [Fault]) -> FaultScript {
    FaultScript([Rule(matcher, faults)])
  }

  /// Returns this script with one more rule.
  public func on(_ matcher: RequestMatcher, _ faults: Fault...) -> FaultScript {
    FaultScript(rules + [Rule(matcher, faults)])
  }

  func faults(for request: ReceivedRequest) -> [Fault] {
    rules.filter { $0.matcher.matches(request) }.flatMap(\.faults)
  }
}
