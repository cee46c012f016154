// SPDX-License-Identifier: MIT

/// The seeks of one item. At most one runs, the latest request wins, and a request made before the
/// item can seek waits until it can.
struct SeekRequests: Hashable {
  struct Request: Hashable {
    var position: Duration
    /// Nil for the item's start position, which has no seek number.
    var serial: Int?
  }

  /// The request to begin next.
  private(set) var wanted: Request?
  /// The request under way.
  private(set) var running: Request?
  /// The completed request that was not reported yet.
  private(set) var over: Request?
  /// Whether the item has to stay silent until the seek is over.
  private(set) var isRestart = false
  /// The number of seeks begun: the completion of any but the last one is stale.
  private(set) var number: UInt64 = 0

  /// - Parameter start: the position at which the item begins; zero needs no seek.
  init(start: Duration = .zero) {
    if start > .zero { wanted = Request(position: start, serial: nil) }
  }

  /// Whether a seek is wanted or under way.
  var isPending: Bool { wanted != nil || running != nil }

  mutating func ask(_ position: Duration, serial: Int?) {
    wanted = Request(position: max(position, .zero), serial: serial)
  }

  /// Returns the request to begin now, in place of the one under way.
  mutating func begin() -> Request? {
    guard let request = wanted else { return nil }
    number += 1
    (wanted, running) = (nil, request)
    return request
  }

  mutating func end(_ number: UInt64) {
    guard number == self.number, let request = running else { return }
    (running, over, isRestart) = (nil, request, false)
  }

  /// Returns the serial number to report: every seek up to it is over.
  mutating func takeOver() -> Int? {
    guard !isPending, let request = over else { return nil }
    over = nil
    return request.serial
  }

  /// Drops the request that has not begun, and returns its serial number.
  mutating func refuse() -> Int? {
    defer { wanted = nil }
    return wanted?.serial
  }

  /// The latest request that is not over.
  var target: Request? { wanted ?? running }

  /// Starts over in another player: a new item has to seek to the pending target, or to `position`.
  mutating func restart(at position: Duration) {
    let target = target
    let number = number
    self = SeekRequests()
    // Completions of the previous item's seeks are stale.
    self.number = number
    wanted = target ?? Request(position: position, serial: nil)
    isRestart = true
  }
}
