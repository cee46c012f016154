// SPDX-License-Identifier: MIT

/// Endless bytes, a pure function of a seed and an offset.
///
/// The bytes come in blocks of 4 KiB. A block begins with 8 bytes that are unique among the seed's
/// blocks; the rest is copied from a table of noise, from a place that those 8 bytes select. Bytes
/// of the wrong offset or seed are therefore detected within a block, and making them is one
/// `memcpy` per block: fast in debug builds too.
public struct SyntheticBytes: Sendable, Equatable {
  public let seed: UInt64

  private let noise: [UInt64]

  private static let blockSize = 4096
  private static let labelSize = 8
  private static let noisePlaces = 65_536

  public init(seed: UInt64) {
    self.seed = seed
    var random = SplitMix64(seed: seed)
    let size = (Self.noisePlaces + Self.blockSize) / 8
    noise = [UInt64](unsafeUninitializedCapacity: size) { buffer, count in
      // Not `for`: without optimisation, iterating over a range takes most of the time.
      while count < size {
        buffer[count] = random.next().littleEndian
        count += 1
      }
    }
  }

  public static func == (a: SyntheticBytes, b: SyntheticBytes) -> Bool { a.seed == b.seed }

  /// The byte at `offset`, which must not be negative.
  public subscript(offset: Int64) -> UInt8 { bytes(in: offset..<offset + 1)[0] }

  /// The bytes of `range`, whose start must not be negative.
  public func bytes(in range: Range<Int64>) -> [UInt8] {
    // Swift writes the count of an empty array made so into memory that all empty arrays share, which
    // the thread sanitizer reports.
    if range.isEmpty { return [] }
    return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      fill(UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
      count = range.count
    }
  }

  /// Fills all of `buffer` with the bytes from `offset` on; `offset` must not be negative.
  public func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
    precondition(offset >= 0, "an offset is never negative")
    var filled = 0
    var block = UInt64(offset) / UInt64(Self.blockSize)
    var start = Int(offset % Int64(Self.blockSize))
    while filled < buffer.count {
      let end = min(Self.blockSize, start + buffer.count - filled)
      fill(
        UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + end - start]),
        block: block, from: start)
      filled += end - start
      block += 1
      start = 0
    }
  }

  /// Copies the block's bytes from `start` on into the buffer, which ends within the block.
  private func fill(_ buffer: UnsafeMutableRawBufferPointer, block: UInt64, from start: Int) {
    let label = SplitMix64.mix(SplitMix64.mix(seed) &+ block)
    var done = 0
    if start < Self.labelSize {
      done = min(Self.labelSize - start, buffer.count)
      withUnsafeBytes(of: label.littleEndian) { bytes in
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<done])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + done]))
      }
    }
    guard done < buffer.count else { return }
    let place = Int(label % UInt64(Self.noisePlaces)) + start + done
    noise.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(rebasing: buffer[done...]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[place..<place + buffer.count - done]))
    }
  }
}

/// The generator of all random-looking values here: small, fast, and the same everywhere.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mix(state)
  }

  /// A bijection: different inputs always give different outputs.
  static func mix(_ value: UInt64) -> UInt64 {
    var z = value
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
