// SPDX-License-Identifier: MIT

/// Finds the pages of Ogg (RFC 3533 §6) with Vorbis, Opus or FLAC, also beside other streams (a
/// picture), one chain after the other. A pure value.
struct OggPages: Sendable {
  private var buffer = ScanBuffer()
  private var clock = SampleClock()
  /// The headers of the chains so far, which a decoder needs first; only the latest are kept.
  private var headers: [Int: [UInt8]] = [:]
  /// The number of the first chain whose headers are kept, and the bytes of all that are.
  private var firstKept = 0
  private var headerBytes = 0
  /// The offsets at which the chains begin whose headers are kept.
  private var beginnings: [Int: Int64] = [:]
  private var number = -1
  private var isInHeaders = false
  /// Whether each page of the chain so far begins a stream: all streams begin together (RFC 3533
  /// §4).
  private var isBeginning = false
  /// The number of the stream whose positions count, the first one of a known codec.
  private var serial: Int64?
  /// The samples per second of its positions; nil: no codec is known.
  private var rate: Int64?
  private var lastGranule: Int64?

  /// The most bytes of headers, which may include covers, that are kept in memory: those of all
  /// chains together.
  static let headerLimit = 16 << 20
  private static let keptHeaders = 256
  private static let pageHeader = 27

  var end: Duration { clock.time }

  /// Whether no points can be found: sound came of which the codec is unknown and that has no
  /// times, or the headers of one chain exceed the limit.
  private(set) var isUnknown = false

  func header(_ number: Int) -> [UInt8]? { headers[number] }

  /// The first byte from which a decoder can start: the headers of earlier chains are dropped.
  var start: Int64 { beginnings[firstKept] ?? 0 }

  /// Returns a point for each page with sound that is complete by now.
  mutating func take(_ new: UnsafeRawBufferPointer) -> [LivePoint] {
    buffer.append(new)
    let bytes = buffer.bytes
    var (points, index) = ([LivePoint](), 0)
    while !isUnknown, index + Self.pageHeader <= bytes.count {
      guard bytes[index..<index + 4].elementsEqual("OggS".utf8) else {
        index += 1
        continue
      }
      let segments = Int(bytes[index + 26])
      let body = index + Self.pageHeader + segments
      guard body <= bytes.count else { break }
      let length = bytes[(index + Self.pageHeader)..<body].reduce(0) { $0 + Int($1) }
      guard body + length <= bytes.count else { break }
      let end = body + length
      if let point = take(bytes, page: index..<end, body: body) { points.append(point) }
      index = end
    }
    buffer.drop(index)
    return points
  }

  /// Records that the next bytes are those of another response.
  mutating func breakOff() {
    buffer.breakOff()
    (isBeginning, lastGranule) = (false, nil)
  }

  /// Takes a whole page. Returns a point if it has sound that a decoder can start with.
  private mutating func take(
    _ bytes: [UInt8], page: Range<Int>, body: Int
  ) -> LivePoint? {
    let granule = ScanBuffer.number(bytes, at: page.lowerBound + 6, count: 8)
    let serial = ScanBuffer.number(bytes, at: page.lowerBound + 14, count: 4)
    if bytes[page.lowerBound + 5] & 2 != 0 {
      if !isBeginning { beginChain(at: buffer.start + Int64(page.lowerBound)) }
      if rate == nil {
        (rate, self.serial) = (Self.rate(Array(bytes[body..<page.upperBound])), serial)
      }
    } else {
      isBeginning = false
    }
    guard number >= 0 else {
      isUnknown = true
      return nil
    }
    // Pages of headers have the position 0, or -1 if no packet ends on them (a large cover).
    if isInHeaders, granule <= 0 {
      keepHeader(bytes[page])
      return nil
    }
    isInHeaders = false
    guard let rate else {
      isUnknown = true
      return nil
    }
    guard serial == self.serial else { return nil }
    let point = LivePoint(
      offset: buffer.start + Int64(page.lowerBound), time: clock.time, header: number)
    if granule > 0 {
      // A station is joined in the middle: its first page only states where it is.
      if let lastGranule, granule > lastGranule {
        clock.advance(by: granule - lastGranule, at: rate)
      }
      lastGranule = granule
    }
    return point
  }

  private mutating func beginChain(at offset: Int64) {
    number += 1
    (headers[number], beginnings[number]) = ([], offset)
    if number - firstKept >= Self.keptHeaders { dropFirstHeader() }
    (isInHeaders, isBeginning) = (true, true)
    (lastGranule, serial, rate) = (nil, nil, nil)
  }

  /// Keeps a page of the headers of the chain, in place of the headers of the earliest ones if they
  /// take too much memory.
  private mutating func keepHeader(_ page: ArraySlice<UInt8>) {
    while headerBytes + page.count > Self.headerLimit {
      guard firstKept < number else {
        (isUnknown, headers, headerBytes) = (true, [:], 0)
        return
      }
      dropFirstHeader()
    }
    headers[number, default: []] += page
    headerBytes += page.count
  }

  private mutating func dropFirstHeader() {
    headerBytes -= headers.removeValue(forKey: firstKept)?.count ?? 0
    beginnings[firstKept] = nil
    firstKept += 1
  }

  /// Returns the samples per second that the first packet of a stream states; nil: the codec is not
  /// known.
  private static func rate(_ packet: [UInt8]) -> Int64? {
    var rate: Int64 = 0
    if packet.count >= 16, packet.starts(with: [1] + "vorbis".utf8) {
      rate = ScanBuffer.number(packet, at: 12, count: 4)
    } else if packet.starts(with: "OpusHead".utf8) {
      rate = 48_000
    } else if packet.count >= 30, packet.starts(with: [0x7F] + "FLAC".utf8) {
      rate = Int64(packet[27]) << 12 | Int64(packet[28]) << 4 | Int64(packet[29] >> 4)
    }
    return rate > 0 ? rate : nil
  }
}
