// SPDX-License-Identifier: MIT

/// The recent messages, which disappear after a while. A pure value.
struct ScreenMessages: Sendable {
  /// The time for which a message is shown; errors stay longer.
  static let lifetime = Duration.seconds(20)
  static let errorLifetime = Duration.seconds(60)
  private static let most = 6

  private var messages: [(message: ScreenModel.Message, end: ContinuousClock.Instant)] = []

  mutating func add(_ message: ScreenModel.Message, at now: ContinuousClock.Instant) {
    // A repeated message is shown once.
    messages.removeAll { $0.message == message }
    let lifetime = message.level == .error ? Self.errorLifetime : Self.lifetime
    messages.append((message, now + lifetime))
    if messages.count > Self.most { messages.removeFirst() }
  }

  /// Returns the messages, the oldest first.
  mutating func current(at now: ContinuousClock.Instant) -> [ScreenModel.Message] {
    messages.removeAll { $0.end <= now }
    return messages.map(\.message)
  }
}

extension ScreenModel.Message {
  /// Creates a message from a line meant for standard error.
  init(noted line: String) {
    let mark = "refrain: "
    self =
      line.hasPrefix(mark)
      ? Self(text: String(line.dropFirst(mark.count)), level: .warning) : Self(text: line)
  }
}
