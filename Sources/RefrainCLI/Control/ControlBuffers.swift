// SPDX-License-Identifier: MIT

/// The bytes that a client has sent, as lines. A pure value.
struct ControlInput: Sendable {
  /// The longest line, in bytes: no path and no URL is longer.
  static let longestLine = 64 << 10

  private var bytes: [UInt8] = []
  private var start = 0
  /// Up to here, no line ends.
  private var searched = 0

  mutating func append(_ more: some Collection<UInt8>) {
    if start > 0 {
      bytes.removeSubrange(0..<start)
      (searched, start) = (searched - start, 0)
    }
    bytes += more
  }

  /// Returns the next complete line, without its end.
  mutating func next() -> ArraySlice<UInt8>? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      return nil
    }
    defer { (start, searched) = (end + 1, end + 1) }
    return bytes[start..<end]
  }

  /// Whether a line without an end is too long.
  var isTooLong: Bool { searched - start > Self.longestLine }
}

/// The bytes that a client has not received yet. A pure value.
struct ControlOutput: Sendable {
  /// Beyond this many bytes, the client reads slowly: its commands wait, and what is repeated is
  /// left out.
  static let slow = 64 << 10
  /// The limit of events, in bytes.
  static let eventLimit = 1 << 20

  private var bytes: [UInt8] = []
  private var sent = 0
  /// The part of the bytes that are not events.
  private var replies = 0

  var count: Int { bytes.count - sent }

  var isSlow: Bool { count > Self.slow }

  var unsent: ArraySlice<UInt8> { bytes[sent...] }

  /// Adds the answer to a command, or a change that the client observes. Their number is limited by
  /// not reading commands, and changes, while the client is slow.
  mutating func add(_ value: ControlValue) {
    let before = bytes.count
    value.write(to: &bytes)
    bytes.append(UInt8(ascii: "\n"))
    replies += bytes.count - before
  }

  /// Adds an event.
  ///
  /// - Parameter isRepeated: whether a later one makes it superfluous.
  /// - Returns: false if the client has left so many unread that it is to be dropped.
  mutating func add(event line: String, isRepeated: Bool) -> Bool {
    if isRepeated, isSlow { return true }
    bytes += line.utf8
    bytes.append(UInt8(ascii: "\n"))
    return count - replies <= Self.eventLimit
  }

  /// Removes bytes that were sent.
  mutating func remove(_ number: Int) {
    sent += number
    replies = min(replies, count)
    if sent == bytes.count {
      bytes.removeAll(keepingCapacity: bytes.count <= Self.slow)
      sent = 0
    } else if sent > Self.slow, sent > bytes.count / 2 {
      bytes.removeSubrange(0..<sent)
      sent = 0
    }
  }
}
