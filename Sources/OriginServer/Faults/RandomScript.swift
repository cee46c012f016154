// SPDX-License-Identifier: MIT

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
