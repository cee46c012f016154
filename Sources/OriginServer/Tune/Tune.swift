// SPDX-License-Identifier: MIT

public import Foundation

/// A tune computed in code: 14 seconds of the "Ode to Joy", for two voices and a bass, with the
/// same samples on every machine.
public enum Tune {
  /// Frames per second.
  public static let sampleRate = 44_100
  public static let channels = 2

  /// 16-bit samples, left and right alternating.
  public static let samples: [Int16] = {
    let score = Score.odeToJoy
    let seconds = Double(score.length) / Score.eighthsPerSecond + tail
    var mix = [Double](repeating: 0, count: Int(seconds * Double(sampleRate)) * channels)
    for note in score.melody { Voice.melody.add(note, to: &mix, rate: sampleRate) }
    for note in score.chords { Voice.chords.add(note, to: &mix, rate: sampleRate) }
    for note in score.bass { Voice.bass.add(note, to: &mix, rate: sampleRate) }
    addRoom(to: &mix)
    return loud(mix)
  }()

  /// The samples as a RIFF/WAVE file of PCM.
  public static let wav: Data = {
    let bytes = samples.count * 2
    let frame = channels * 2
    var file = Data()
    file.reserveCapacity(44 + bytes)
    func text(_ text: String) { file.append(contentsOf: text.utf8) }
    func number(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.littleEndian) { file.append(contentsOf: $0) }
    }
    text("RIFF")
    number(UInt32(36 + bytes))
    text("WAVEfmt ")
    number(UInt32(16))
    number(UInt16(1))
    number(UInt16(channels))
    number(UInt32(sampleRate))
    number(UInt32(sampleRate * frame))
    number(UInt16(frame))
    number(UInt16(16))
    text("data")
    number(UInt32(bytes))
    // Swapped only on a machine with the other order of bytes.
    let ordered = Int16(1).littleEndian == 1 ? samples : samples.map(\.littleEndian)
    ordered.withUnsafeBytes { file.append(contentsOf: $0) }
    return file
  }()

  /// The file as a resource of the origin.
  public static var resource: OriginResource {
    OriginResource(.bytes(wav), contentType: "audio/wav", etag: "\"ode-to-joy-1\"")
  }

  /// Seconds after the last note.
  private static let tail = 0.7
  private static let loudest = 26_000.0

  /// Returns the mix as samples, at most as far from zero as `loudest`.
  private static func loud(_ mix: [Double]) -> [Int16] {
    // Not `map` and `reduce`, which take most of the time without optimisation.
    mix.withUnsafeBufferPointer { mix in
      var peak = 0.0
      var index = 0
      while index < mix.count {
        peak = max(peak, abs(mix[index]))
        index += 1
      }
      return [Int16](unsafeUninitializedCapacity: mix.count) { samples, count in
        while count < mix.count {
          samples[count] = Int16((mix[count] / peak * loudest).rounded())
          count += 1
        }
      }
    }
  }

  /// Adds each side, delayed and softer, to the other.
  private static func addRoom(to mix: inout [Double]) {
    let delays = [
      (frames: 1103, gain: 0.16), (frames: 2447, gain: 0.10), (frames: 4801, gain: 0.06),
    ]
    let dry = mix
    dry.withUnsafeBufferPointer { dry in
      mix.withUnsafeMutableBufferPointer { mix in
        for (frames, gain) in delays {
          var index = frames * 2
          while index < dry.count {
            mix[index] += gain * dry[(index - frames * 2) ^ 1]
            index += 1
          }
        }
      }
    }
  }
}
