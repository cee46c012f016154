// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The samples of a WAV file with 16 bits each, as mpv's `ao=pcm` writes it.
struct WAVFile {
  let channels: Int
  let rate: Int
  let samples: [Int16]

  /// Parses RIFF: chunks with a name and a length, padded to an even number of bytes.
  init(_ url: URL) throws {
    let bytes = [UInt8](try Data(contentsOf: url))
    func number(_ count: Int, at offset: Int) -> Int {
      (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    try #require(bytes.count >= 12 && bytes[0..<4].elementsEqual("RIFF".utf8))
    var (format, body): (Int?, Range<Int>?)
    var offset = 12
    while offset + 8 <= bytes.count {
      let size = number(4, at: offset + 4)
      let name = String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
      if name == "fmt " { format = offset + 8 }
      if name == "data" { body = offset + 8..<min(offset + 8 + size, bytes.count) }
      offset += 8 + size + size % 2
    }
    let head = try #require(format)
    let data = try #require(body)
    try #require(number(2, at: head + 14) == 16)
    channels = number(2, at: head + 2)
    rate = number(4, at: head + 4)
    // Copied in one step, and swapped only on a machine with the other order of bytes.
    let count = data.count / 2
    // An empty array would be written to, although all empty arrays share their memory.
    guard count > 0 else {
      samples = []
      return
    }
    let copied = [Int16](unsafeUninitializedCapacity: count) { samples, filled in
      bytes[data].withUnsafeBytes { raw in
        UnsafeMutableRawBufferPointer(samples).copyMemory(
          from: .init(rebasing: raw[..<(count * 2)]))
      }
      filled = count
    }
    samples = Int16(1).littleEndian == 1 ? copied : copied.map { $0.byteSwapped }
  }
}
