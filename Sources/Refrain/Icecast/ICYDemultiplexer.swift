// SPDX-License-Identifier: MIT
import Foundation

/// Separates the metadata from the audio of a body: after every `interval` bytes of audio come one
/// byte L, and 16·L bytes of metadata (`ICYMetadata`); L = 0: nothing new. Counted from the first
/// byte of the body. A pure value, which holds one block at most: 4080 bytes.
struct ICYDemultiplexer: Sendable {
  /// The content of a chunk of the body.
  struct Output: Sendable, Hashable {
    /// May be empty.
    var audio = Data()
    var notes: [Note] = []
  }

  struct Note: Sendable, Hashable {
    var metadata: ICYMetadata
    /// The first byte of the audio that it applies to.
    var offset: Int64
  }

  /// The bytes of audio between two blocks, at least one.
  let interval: Int64
  /// The bytes of audio returned so far.
  private(set) var offset: Int64 = 0
  private var audioLeft: Int64
  /// The bytes of the block still to arrive; nil: audio is next, or the length byte.
  private var blockLeft: Int?
  private var block: [UInt8] = []

  init(interval: Int64) {
    self.interval = max(interval, 1)
    audioLeft = self.interval
  }

  /// Whether the body may end here, rather than inside a block.
  var isBetweenBlocks: Bool { blockLeft == nil }

  mutating func take(_ chunk: Data) -> Output {
    // The usual case makes no copy.
    if blockLeft == nil, Int64(chunk.count) <= audioLeft {
      count(chunk.count)
      return Output(audio: chunk)
    }
    var output = Output()
    var rest = chunk
    while let first = rest.first {
      if let left = blockLeft {
        let part = rest.prefix(left)
        block += part
        rest = rest.dropFirst(part.count)
        blockLeft = left - part.count
        if blockLeft == 0 { endBlock(&output) }
      } else if audioLeft == 0 {
        rest = rest.dropFirst()
        blockLeft = Int(first) * 16
        if blockLeft == 0 { endBlock(&output) }
      } else {
        let part = rest.prefix(Int(min(audioLeft, Int64(rest.count))))
        output.audio += part
        count(part.count)
        rest = rest.dropFirst(part.count)
      }
    }
    return output
  }

  private mutating func count(_ bytes: Int) {
    audioLeft -= Int64(bytes)
    offset += Int64(bytes)
  }

  private mutating func endBlock(_ output: inout Output) {
    if !block.isEmpty { output.notes.append(Note(metadata: ICYMetadata(block), offset: offset)) }
    block.removeAll(keepingCapacity: true)
    blockLeft = nil
    audioLeft = interval
  }
}
