// SPDX-License-Identifier: MIT

/// Metadata between the audio of a stream, as Icecast and SHOUTcast send it to requests with
/// `Icy-MetaData: 1`: after every `interval` bytes of audio a byte L and 16·L bytes of metadata.
public struct Interleaving: Sendable, Hashable {
  /// Bytes of audio between two blocks.
  public var interval: Int64
  /// The text of the n-th block, n counted from 1; the others are empty. At most 4080 bytes each.
  public var blocks: [Int64: [UInt8]]

  public init(interval: Int64, blocks: [Int64: [UInt8]] = [:]) {
    precondition(interval > 0, "there is audio between two blocks")
    self.interval = interval
    self.blocks = blocks
  }

  /// Blocks with titles and nothing else.
  public init(interval: Int64, titles: [Int64: String]) {
    self.init(
      interval: interval, blocks: titles.mapValues { Array("StreamTitle='\($0)';".utf8) })
  }

  enum Piece: Equatable {
    /// A range of the audio.
    case audio(Range<Int64>)
    case block([UInt8])
  }

  /// Returns the block as it is sent: preceded by its length, padded with NULs.
  func encoded(_ number: Int64) -> [UInt8] {
    let text = blocks[number]?.prefix(4080) ?? []
    let units = (text.count + 15) / 16
    return [UInt8(units)] + text + [UInt8](repeating: 0, count: units * 16 - text.count)
  }

  /// Returns the length of a body with this much audio; an endless one stays endless.
  func length(of audio: Int64) -> Int64 {
    if audio > .max / 2 { return .max }
    let count = audio / interval
    return audio + count + extra(upTo: count)
  }

  /// Returns the size of the first `count` blocks, without their length bytes.
  private func extra(upTo count: Int64) -> Int64 {
    blocks.keys.lazy.filter { 1 <= $0 && $0 <= count }
      .reduce(0) { $0 + Int64(encoded($1).count) - 1 }
  }

  /// Returns the piece at an offset of the body, up to the piece's end.
  func piece(at offset: Int64) -> Piece {
    // The greatest number of intervals, each with its block, that lie before the offset.
    var low: Int64 = 0
    var high = offset / (interval + 1) + 1
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if start(of: middle) <= offset { low = middle } else { high = middle }
    }
    let within = offset - start(of: low)
    let audio = low * interval
    if within < interval { return .audio(audio + within..<audio + interval) }
    return .block(Array(encoded(low + 1).dropFirst(Int(within - interval))))
  }

  /// Returns the offset in the body at which an interval begins, counted from 0.
  private func start(of index: Int64) -> Int64 { index * (interval + 1) + extra(upTo: index) }
}
