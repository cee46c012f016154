// SPDX-License-Identifier: MIT
import Refrain

/// The last failures and warnings. A pure value.
struct PageProblems: Sendable {
  /// A failure or a warning, with its number and its time in seconds since 1970.
  struct Problem: Sendable, Hashable {
    var number: UInt64
    var time: Int64
    var url: String?
    var text: String
  }

  /// The number of problems kept.
  static let most = 30

  private var all: [Problem] = []
  private var next: UInt64 = 1
  /// The last failure to look at the directory, until that succeeds: it is repeated every moment.
  private var lastLook: String?

  mutating func add(_ text: String, of key: CacheKey? = nil, at time: Int64) {
    if all.count == Self.most { all.removeFirst() }
    all.append(Problem(number: next, time: time, url: key?.rawValue, text: text))
    next += 1
  }

  /// Adds a failure to look at the directory; one that repeats is added once.
  mutating func addLook(_ text: String, at time: Int64) {
    guard text != lastLook else { return }
    lastLook = text
    add(text, at: time)
  }

  mutating func noteLooked() { lastLook = nil }

  /// Returns the problems after one, in order.
  func after(_ number: UInt64) -> [Problem] { all.filter { $0.number > number } }
}
