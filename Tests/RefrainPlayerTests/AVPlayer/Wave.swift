// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import OriginServer

  /// A small WAV file: one channel of 8 bits, a thousand samples a second.
  struct Wave {
    static let bytesPerSecond = 1000

    var seconds: Double
    /// Chunks of LIST/INFO: INAM is the title, IART the artist, IPRD the album.
    var texts: [(name: String, text: String)] = []

    var data: Data {
      let count = Int((seconds * Double(Self.bytesPerSecond)).rounded())
      // The samples repeat after 256.
      let period = Data((0..<256).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      var samples = Data(capacity: count)
      while samples.count < count { samples.append(period.prefix(count - samples.count)) }
      let info = texts.reduce(into: Array("INFO".utf8)) { info, entry in
        let text = Array(entry.text.utf8) + (entry.text.utf8.count % 2 == 1 ? [0] : [])
        info += Array(entry.name.utf8) + [UInt8(text.count), 0, 0, 0] + text
      }
      return RIFF.wav(
        rate: Self.bytesPerSecond, channels: 1, bits: 8, samples: samples,
        chunks: texts.isEmpty ? [] : [("LIST", info)])
    }

    var resource: OriginResource {
      OriginResource(.bytes(data), contentType: "audio/wav", etag: "\"wave-\(seconds)\"")
    }
  }
#endif
