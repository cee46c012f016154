// SPDX-License-Identifier: MIT
import Refrain

/// The titles of a live stream by the times of their sound. A pure value.
///
/// Titles have places in the bytes of the stream. Which time these bytes have reached is known now
/// and then; what lies between is taken for sound of a constant rate.
struct LiveTitles: Sendable {
  /// The titles of bytes whose times are not known yet.
  private var received: [StreamTitle] = []
  private var placed: [(start: Duration, title: StreamTitle)] = []
  /// The byte up to which the stream was read.
  private var readTo: Int64 = 0
  /// A byte whose time is known.
  private var last: (offset: Int64, time: Duration) = (0, .zero)

  /// The titles that are kept, the latest ones.
  static let most = 1024

  /// Records that the stream was read up to a byte, and the title of the last one.
  mutating func note(_ title: StreamTitle?, readTo offset: Int64) {
    readTo = offset
    guard let title, title != received.last ?? placed.last?.title else { return }
    received = received.suffix(Self.most - 1) + [title]
  }

  /// Records the time that the bytes read so far have reached, and drops the titles of sound before
  /// `start`.
  mutating func place(upTo end: Duration, from start: Duration) {
    placed += received.map { (time(of: $0.offset, upTo: end), $0) }
    received = []
    last = (readTo, end)
    let first = placed.lastIndex { $0.start <= start } ?? 0
    placed = Array(placed[first...].suffix(Self.most))
  }

  /// Returns the title of the sound at a position; nil: none is known.
  func title(at position: Duration) -> StreamTitle? {
    (placed.last { $0.start <= position } ?? placed.first)?.title
  }

  private func time(of offset: Int64, upTo end: Duration) -> Duration {
    let length = Double(max(1, readTo - last.offset))
    return last.time + (end - last.time) * min(max(Double(offset - last.offset) / length, 0), 1)
  }
}
