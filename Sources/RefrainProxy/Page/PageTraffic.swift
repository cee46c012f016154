// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Counts requests, and keeps the last ones. May be called on any thread.
final class PageTraffic: Sendable {
  /// A request, with its number and its time in seconds since 1970.
  struct Recent: Sendable {
    var number: UInt64
    var time: Int64
    var request: ServedRequest

    /// The error, with the remedy; nil if there was none. A response with an error status is one,
    /// also if it was relayed unchanged.
    var fault: String? {
      if let error = request.error { return error }
      guard request.status >= 400 else { return nil }
      // The proxy says so without asking the origin, and without an error of its own.
      if request.status == 416, request.source != .relayed {
        return "The requested range lies beyond the end of the resource."
      }
      return MediaCacheError.answered(request.status).description
    }
  }

  /// The number of requests kept.
  static let kept = 100

  private struct State {
    var recent: [Recent] = []
    var next: UInt64 = 1
    var savings = PageSavings()
  }

  private let state: Mutex<State>
  private let now: @Sendable () -> Date
  private let bytesSent = Atomic<Int64>(0)

  init(now: @Sendable @escaping () -> Date) {
    self.now = now
    var savings = PageSavings()
    savings.turn(to: now())
    state = Mutex(State(savings: savings))
  }

  /// The bytes sent to clients so far, also of responses under way.
  var sent: Int64 { bytesSent.load(ordering: .relaxed) }

  func noteSent(_ count: Int64) { bytesSent.add(count, ordering: .relaxed) }

  func note(_ request: ServedRequest) {
    let date = now()
    state.withLock { state in
      state.savings.note(request, at: date)
      if state.recent.count == Self.kept { state.recent.removeFirst() }
      state.recent.append(
        Recent(number: state.next, time: Int64(date.timeIntervalSince1970), request: request))
      state.next += 1
    }
  }

  /// Returns the kept requests after one, in order.
  func recent(after number: UInt64) -> [Recent] {
    state.withLock { state in
      guard let last = state.recent.last, last.number > number else { return [] }
      return state.recent.filter { $0.number > number }
    }
  }

  var savings: PageSavings {
    let date = now()
    return state.withLock { state in
      state.savings.turn(to: date)
      return state.savings
    }
  }

  func add(_ earlier: PageSavings) { state.withLock { $0.savings.add(earlier) } }
}

/// What the cache has saved. A pure value.
struct PageSavings: Sendable, Hashable, Codable {
  /// The local day, as in `2026-11-23`; empty before the first turn.
  private(set) var day = ""
  private(set) var today = Amount()
  private(set) var all = Amount()

  struct Amount: Sendable, Hashable, Codable {
    var requests: Int64 = 0
    /// Requests served without a body from the origin.
    var hits: Int64 = 0
    /// The bytes sent to clients.
    var sent: Int64 = 0
    /// Those of them that were stored before the request.
    var saved: Int64 = 0

    /// Whether it can have been counted: sums of such amounts do not overflow.
    var isPlausible: Bool {
      [requests, hits, sent, saved].allSatisfy { (0...1 << 53).contains($0) }
    }

    static func + (a: Amount, b: Amount) -> Amount {
      Amount(
        requests: a.requests + b.requests, hits: a.hits + b.hits, sent: a.sent + b.sent,
        saved: a.saved + b.saved)
    }

    static func - (a: Amount, b: Amount) -> Amount {
      Amount(
        requests: a.requests - b.requests, hits: a.hits - b.hits, sent: a.sent - b.sent,
        saved: a.saved - b.saved)
    }
  }

  private enum CodingKeys: CodingKey { case day, today, all }

  /// The time at which the day ends: a calendar is too slow for every request.
  private var midnight = Date.distantPast

  init() {}

  /// Whether the amounts can have been counted.
  var isPlausible: Bool { today.isPlausible && all.isPlausible }

  mutating func note(_ request: ServedRequest, at date: Date) {
    turn(to: date)
    let isHit = [.hit, .revalidated, .stale].contains(request.source)
    let amount = Amount(
      requests: 1, hits: isHit ? 1 : 0, sent: request.bytesSent, saved: request.bytesFromCache)
    today = today + amount
    all = all + amount
  }

  /// Begins a new day if one has begun.
  mutating func turn(to date: Date) {
    guard date >= midnight || day.isEmpty else { return }
    let calendar = Calendar.current
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    let next = [parts.year, parts.month, parts.day].map { String($0 ?? 0) }.joined(separator: "-")
    midnight = calendar.dateInterval(of: .day, for: date)?.end ?? date + 3600
    guard next != day else { return }
    if !day.isEmpty { today = Amount() }
    day = next
  }

  /// Adds what was counted elsewhere; that of another day counts for all days only.
  mutating func add(_ other: PageSavings) {
    all = all + other.all
    if other.day == day { today = today + other.today }
  }

  /// Returns what was counted since an earlier state of the same count.
  func since(_ earlier: PageSavings) -> PageSavings {
    var rest = self
    rest.all = all - earlier.all
    if earlier.day == day { rest.today = today - earlier.today }
    return rest
  }
}
