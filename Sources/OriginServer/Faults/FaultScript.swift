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

extension FaultScript {
  /// Transient faults for some of the first `requests` requests, the same for the same seed: drops,
  /// resets, partial ranges, 503 and 429 with `Retry-After: 0`, stalls of a few milliseconds, short
  /// dribbles, ignored ranges. A client that retries receives everything: a response without body
  /// bytes is followed by one with some, and after the last rule there are no faults.
  public static func random(seed: UInt64, requests: Int = 12) -> FaultScript {
    var random = SplitMix64(seed: seed)
    var script = FaultScript()
    var mayRefuse = true
    for number in 1...max(1, requests) where Int.random(in: 0..<3, using: &random) > 0 {
      let refuse = mayRefuse && Int.random(in: 0..<4, using: &random) == 0
      let fault = refuse ? refusal(&random) : disturbance(&random)
      script = script.on(.number(number), fault)
      mayRefuse = !refuse
    }
    return script
  }

  /// A fault that may leave the client without a byte.
  private static func refusal(_ random: inout SplitMix64) -> Fault {
    switch Int.random(in: 0..<5, using: &random) {
    case 0: .unavailable(.seconds(0))
    case 1: .tooManyRequests(.seconds(0))
    case 2: .closeWithoutAnswer
    case 3: .drop(at: .body(place(&random)), reset: true)
    default: .drop(at: .body(0))
    }
  }

  /// A fault that lets bytes through.
  private static func disturbance(_ random: inout SplitMix64) -> Fault {
    let place = place(&random)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return .drop(at: .body(place))
    case 1: return .atMost(place)
    case 2:
      let time = Int.random(in: 1...5, using: &random)
      return .stall(at: .body(place), for: .milliseconds(time))
    case 3: return .dribble(bytesPerSecond: 200_000, from: .body(place), for: 2000)
    default: return .ignoreRange
    }
  }

  /// Small values are as likely as large ones.
  private static func place(_ random: inout SplitMix64) -> Int64 {
    let bits = Int64.random(in: 1...18, using: &random)
    return Int64.random(in: 1...(1 << bits), using: &random)
  }
}
