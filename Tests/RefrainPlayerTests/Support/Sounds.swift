// SPDX-License-Identifier: MIT
import Foundation

/// Silence as MPEG-1 layer III frames: 44.1 kHz, stereo, 128 kbit/s, without a preceding header, as
/// stations send it.
enum SilentMP3 {
  /// The bytes of a frame, which lasts 1152 samples.
  static let frameLength = 417

  static let bytesPerSecond = frameLength * 44_100 / 1152

  static func frames(_ count: Int) -> Data {
    var frame = Data([0xFF, 0xFB, 0x90, 0x00])
    frame.append(Data(count: frameLength - frame.count))
    var data = Data(capacity: count * frameLength)
    for _ in 0..<count { data.append(frame) }
    return data
  }

  /// Returns mono frames of another rate: 320 or 32 kbit/s.
  static func frames(_ count: Int, kilobits: Int) -> Data {
    var frame = Data([0xFF, 0xFB, kilobits == 320 ? 0xE0 : 0x10, 0xC4])
    frame.append(Data(count: 144_000 * kilobits / 44_100 - frame.count))
    return (0..<count).reduce(into: Data()) { data, _ in data.append(frame) }
  }

  /// Returns silence of that duration, rounded up to a whole frame.
  static func lasting(seconds: Int) -> Data { frames((seconds * 44_100 + 1151) / 1152) }
}

/// Sound in which each frame says its place.
enum NumberedFrames {
  /// MPEG-1 layer III frames of 44.1 kHz and 128 kbit/s, whose bodies repeat the frame's number.
  static func mp3(_ numbers: Range<Int>) -> Data {
    var data = Data(capacity: numbers.count * SilentMP3.frameLength)
    for number in numbers {
      data.append(contentsOf: [0xFF, 0xFB, 0x90, 0x00])
      // Without a byte that looks like the start of a frame.
      var digits = Array(String(number).utf8) + [UInt8(ascii: " ")]
      while digits.count < SilentMP3.frameLength - 4 { digits += digits }
      data.append(contentsOf: digits[..<(SilentMP3.frameLength - 4)])
    }
    return data
  }

  static let wavRate = 4000
  static let wavBytesPerSecond = wavRate * 4

  /// RIFF/WAVE with 16 bits and two channels, which are the low and the high half of the sample's
  /// number. The header promises hours.
  static func wav(seconds: Int) -> Data {
    let count = seconds * wavRate
    // A loop without calls: these are millions.
    let numbers = [UInt32](unsafeUninitializedCapacity: count) { buffer, filled in
      var number = 0
      while number < count {
        buffer[number] = UInt32(truncatingIfNeeded: number).littleEndian
        number += 1
      }
      filled = count
    }
    return numbers.withUnsafeBytes {
      RIFF.wav(
        rate: wavRate, channels: 2, bits: 16, samples: Data($0), claimedLength: 0x7F00_0000)
    }
  }

  /// Returns the runs of consecutive numbers in samples that were heard.
  static func runs(_ samples: [Int16]) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    // A loop almost without calls: these are millions.
    samples.withUnsafeBufferPointer { samples in
      var (start, end, index) = (0, 0, 0)
      while index + 1 < samples.count {
        let low = Int(UInt16(bitPattern: samples[index]))
        let number = Int(UInt16(bitPattern: samples[index + 1])) << 16 | low
        if number != end || index == 0 {
          if end > start { runs.append(start..<end) }
          start = number
        }
        end = number + 1
        index += 2
      }
      if end > start { runs.append(start..<end) }
    }
    return runs
  }
}

/// Files of chunks with a name and a length, padded to an even number of bytes.
enum RIFF {
  /// - Parameters:
  ///   - chunks: those between the format and the samples.
  ///   - claimedLength: the samples' length that the header states; nil: their own.
  static func wav(
    rate: Int, channels: Int, bits: Int, samples: Data,
    chunks: [(name: String, body: [UInt8])] = [], claimedLength: Int? = nil
  ) -> Data {
    var file = Data()
    func put(_ number: Int, _ count: Int) {
      for index in 0..<count { file.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }
    func begin(_ name: String, _ length: Int) {
      file.append(contentsOf: name.utf8)
      put(length, 4)
    }
    let length = claimedLength ?? samples.count
    begin("RIFF", chunks.reduce(36 + length) { $0 + 8 + $1.body.count + $1.body.count % 2 })
    file.append(contentsOf: "WAVE".utf8)
    begin("fmt ", 16)
    put(1, 2)
    put(channels, 2)
    put(rate, 4)
    put(rate * channels * bits / 8, 4)
    put(channels * bits / 8, 2)
    put(bits, 2)
    for chunk in chunks {
      begin(chunk.name, chunk.body.count)
      file.append(contentsOf: chunk.body)
      put(0, chunk.body.count % 2)
    }
    begin("data", length)
    file.append(samples)
    return file
  }
}
