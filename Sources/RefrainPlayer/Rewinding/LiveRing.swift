// SPDX-License-Identifier: MIT
import Refrain

/// What a ring holds of a live stream: which bytes, where in its file, and their times and titles.
/// A pure value; the bytes themselves are in the file.
struct LiveRing: Sendable {
  private let rewind: Duration
  private(set) var framing = LiveFraming()
  private var index = LiveIndex()
  private(set) var slots: RingSlots
  /// The byte up to which the stream is recorded.
  private(set) var end: Int64 = 0
  private(set) var titles: [StreamTitle] = []

  /// The bytes that are kept of a stream of an unknown format, whose duration nobody knows.
  private static let unknownLength: Int64 = 16 << 20

  /// The titles that are kept, the latest ones.
  static let titleLimit = 4096

  init(keeping rewind: Duration, blockSize: Int64) {
    self.rewind = rewind
    slots = RingSlots(blockSize: blockSize)
  }

  /// The first byte that can be read.
  var start: Int64 { slots.start }

  /// The first byte at which playback can begin: of the bytes before it, the headers are dropped.
  private var firstPlace: Int64 { max(start, framing.start) }

  /// The recorded part; nil while there is none in which one can seek.
  var window: LiveWindow? {
    let end = framing.end
    guard !framing.isUnknown,
      let first = index.firstPoint(notBefore: end - rewind, from: firstPlace)
    else { return nil }
    return LiveWindow(start: first.time, end: end)
  }

  /// Returns where to begin for a position, and the bytes that a decoder needs first; nil while
  /// there is no such place.
  func place(at position: Duration) -> (point: LivePoint, header: [UInt8])? {
    guard let window, let point = index.point(at: window.nearest(to: position), from: firstPlace),
      let header = framing.header(point.header)
    else { return nil }
    return (point, header)
  }

  /// Returns the title of the sound at a position; nil: none is known.
  func title(at position: Duration) -> StreamTitle? {
    // A title may begin between two points: it is shown from the second one on.
    guard let point = index.point(at: position, from: 0) else { return titles.first }
    return titles.last { $0.offset <= point.offset } ?? titles.first
  }

  /// Drops what is older than the ring keeps.
  mutating func dropOld() {
    let first =
      framing.isUnknown
      ? end - Self.unknownLength
      : index.firstPoint(notBefore: framing.end - rewind, from: start)?.offset
    if let first { slots.drop(before: first) }
    removeDropped()
  }

  /// Gives the next block a slot. Returns false if none is free.
  mutating func addBlock() -> Bool { slots.addBlock() }

  /// Adds a slot to the file.
  mutating func grow() { slots.grow() }

  /// Drops the oldest block for the next one. Returns false if there is none.
  mutating func dropFirst() -> Bool {
    guard slots.dropFirst() else { return false }
    removeDropped()
    return true
  }

  private mutating func removeDropped() {
    index.removePoints(before: start)
    while titles.count > 1, titles[1].offset <= start { titles.removeFirst() }
  }

  /// Records that the next bytes are in the file.
  mutating func take(_ bytes: UnsafeRawBufferPointer) {
    for point in framing.take(bytes) { index.add(point) }
    end += Int64(bytes.count)
  }

  /// Records that the connection broke off: the next bytes are those of another response.
  mutating func breakOff() { framing.breakOff() }

  /// Records the title that applies from its byte on.
  mutating func note(_ title: StreamTitle) {
    guard titles.last != title else { return }
    titles.append(title)
    if titles.count > Self.titleLimit { titles.removeFirst() }
  }
}
