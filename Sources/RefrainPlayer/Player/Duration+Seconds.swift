// SPDX-License-Identifier: MIT

extension Duration {
  var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// The duration as text, in whole seconds: `0:07`, `12:30`, `1:02:03`.
  var asTime: String {
    let all = max(0, components.seconds)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60)
    return hours > 0
      ? "\(hours):\(two(minutes)):\(two(seconds))" : "\(minutes):\(two(seconds))"
  }
}
