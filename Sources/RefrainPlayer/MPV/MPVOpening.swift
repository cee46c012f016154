// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain

  /// A stream as libmpv reads it from a reader: a live stream of MPEG audio begins with a whole
  /// frame (`LiveOpening`).
  struct MPVOpening: Sendable {
    private enum Place: Sendable {
      case undecided
      case searched(LiveOpening)
      case found
    }

    private var place = Place.undecided
    /// The first bytes, which were read while the first frame was searched.
    private var held: [UInt8] = []
    /// The bytes before the first frame, which are left out.
    private var omitted: Int64 = 0

    /// Reads as `MediaReader.readBlocking`, which the position of libmpv differs from. Blocks.
    ///
    /// - Throws: the error of the reader. What was read before is kept for the next call.
    mutating func read(
      _ reader: MediaReader, into buffer: UnsafeMutableRawBufferPointer, at position: Int64
    ) throws -> Int {
      if case .undecided = place {
        let count = try reader.readBlocking(into: buffer, at: position)
        // Whether it is live is known with the first bytes.
        guard position == 0, reader.isPassing,
          let opening = LiveOpening(mimeType: try reader.contentInformationBlocking().mimeType)
        else {
          place = .found
          return count
        }
        take(buffer, count, opening)
      }
      while case .searched(let opening) = place {
        let count = try reader.readBlocking(into: buffer, at: opening.length)
        take(buffer, count, opening)
      }
      if position < Int64(held.count) {
        let part = held[Int(position)...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
      }
      return try reader.readBlocking(into: buffer, at: position + omitted)
    }

    /// Takes the bytes that were read after those of `opening`.
    private mutating func take(
      _ buffer: UnsafeMutableRawBufferPointer, _ count: Int, _ opening: LiveOpening
    ) {
      let new = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      var opening = opening
      opening.take(new)
      held += new
      guard let start = opening.start else {
        place = .searched(opening)
        return
      }
      place = .found
      omitted = start
      held.removeFirst(Int(start))
    }
  }
#endif
