// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import OriginServer

  /// A small WAV file: one channel of 8 bits, a thousand samples a second.
  struct Wave {
    static let bytesPerSecond = 1000
    static let headLength = 44

    var seconds: Double
    /// Chunks of LIST/INFO: INAM is the title, IART the artist, IPRD the album.
    var texts: [(name: String, text: String)] = []

    var data: Data {
      var file = Data()
      func text(_ text: String) { file.append(contentsOf: text.utf8) }
      func number(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { file.append(contentsOf: $0) }
      }
      let count = Int((seconds * Double(Self.bytesPerSecond)).rounded())
      text("RIFF")
      number(UInt32(Self.headLength - 8 + count))
      text("WAVEfmt ")
      number(UInt32(16))
      number(UInt16(1))
      number(UInt16(1))
      number(UInt32(Self.bytesPerSecond))
      number(UInt32(Self.bytesPerSecond))
      number(UInt16(1))
      number(UInt16(8))
      if !texts.isEmpty {
        let chunks = texts.map {
          ($0.name, Array($0.text.utf8) + ($0.text.utf8.count % 2 == 1 ? [0] : []))
        }
        text("LIST")
        number(UInt32(chunks.reduce(4) { $0 + 8 + $1.1.count }))
        text("INFO")
        for (name, bytes) in chunks {
          text(name)
          number(UInt32(bytes.count))
          file.append(contentsOf: bytes)
        }
      }
      text("data")
      number(UInt32(count))
      // The samples repeat after 256.
      let samples = Data((0..<256).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      for start in stride(from: 0, to: count, by: samples.count) {
        file.append(samples.prefix(count - start))
      }
      return file
    }

    var resource: OriginResource {
      OriginResource(.bytes(data), contentType: "audio/wav", etag: "\"wave-\(seconds)\"")
    }
  }
#endif
