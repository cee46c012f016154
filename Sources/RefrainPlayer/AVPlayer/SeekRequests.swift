// SPDX-License-Identifier: MIT

/// The seeks of one item: one is on its way at most, the latest wins, and what is asked for before the
/// item can seek waits until it can.
struct SeekRequests: Hashable {
  struct Request: Hashable {
    var position: Duration
    /// Nil: nobody asked by number, it is where the item begins.
    var serial: Int?
  }

  /// To be begun.
  private(set) var wanted: Request?
  /// On its way.
  private(set) var running: Request?
  /// Over, and not told yet.
  private(set) var over: Request?
  /// Whether nothing may be heard before it is where it should be.
  private(set) var isRestart = false
  /// Counts those that were begun: the answer to one that is not the last is stale.
  private(set) var number: UInt64 = 0

  /// - Parameter start: where the item begins; the beginning needs no seek.
  init(start: Duration = .zero) {
    if start > .zero { wanted = Request(position: start, serial: nil) }
  }

  /// Whether the item is not where it should be.
  var isPending: Bool { wanted != nil || running != nil }

  mutating func ask(_ position: Duration, serial: Int?) {
    wanted = Request(position: max(position, .zero), serial: serial)
  }

  /// What is to be begun now, in place of what is on its way.
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

  /// The serial number that can be told: every seek up to it is over.
  mutating func takeOver() -> Int? {
    guard !isPending, let request = over else { return nil }
    over = nil
    return request.serial
  }

  /// Takes back what was not begun yet. Returns its serial number.
  mutating func refuse() -> Int? {
    defer { wanted = nil }
    return wanted?.serial
  }

  /// Where it is to be, if it is not there yet.
  var target: Request? { wanted ?? running }

  /// The item is at the beginning of its life again, in another player, and has to be sought there.
  mutating func restart(at position: Duration) {
    let target = target
    let number = number
    self = SeekRequests()
    // What the item before answers is stale.
    self.number = number
    wanted = target ?? Request(position: position, serial: nil)
    isRestart = true
  }
}
