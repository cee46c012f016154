// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation

  /// The place and the rate of a WAV file's sound: the part of a file that a player reads first.
  struct WAVFormat: Sendable, Hashable {
    /// The range of the sound in bytes of the file.
    var body: Range<Int64>
    var bytesPerSecond: Int64
    /// The texts of the chunk LIST/INFO, by the names of its chunks.
    var texts: [String: String] = [:]

    var seconds: Double { Double(body.count) / Double(bytesPerSecond) }

    enum Parsed: Hashable {
      case format(WAVFormat)
      case needsMore
      case isNot
    }

    /// Parses RIFF: chunks with a name and a length, padded to an even number of bytes.
    static func parse(_ bytes: [UInt8]) -> Parsed {
      func number(_ count: Int, at offset: Int) -> Int64 {
        (0..<count).reduce(0) { $0 | Int64(bytes[offset + $1]) << (8 * $1) }
      }
      func name(at offset: Int) -> String {
        String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
      }
      guard bytes.count >= 12 else { return .needsMore }
      guard name(at: 0) == "RIFF", name(at: 8) == "WAVE" else { return .isNot }
      var format = WAVFormat(body: 0..<0, bytesPerSecond: 0)
      var offset = 12
      while offset + 8 <= bytes.count {
        let size = number(4, at: offset + 4)
        let start = offset + 8
        switch name(at: offset) {
        case "data":
          guard format.bytesPerSecond > 0 else { return .isNot }
          format.body = Int64(start)..<Int64(start) + size
          return .format(format)
        case "fmt ":
          guard start + 16 <= bytes.count else { return .needsMore }
          format.bytesPerSecond = number(4, at: start + 8)
        case "LIST":
          guard start + Int(size) <= bytes.count else { return .needsMore }
          var part = start + 4
          while part + 8 <= start + Int(size) {
            let length = Int(number(4, at: part + 4))
            guard part + 8 + length <= start + Int(size) else { break }
            let text = bytes[part + 8..<part + 8 + length].prefix { $0 != 0 }
            format.texts[name(at: part)] = String(decoding: text, as: UTF8.self)
            part += 8 + length + length % 2
          }
        default: break
        }
        offset = start + Int(size + size % 2)
      }
      return .needsMore
    }
  }
#endif
