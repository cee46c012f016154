// SPDX-License-Identifier: MIT

/// An instrument: a sum of a few sines with a soft attack and exponential decay.
///
/// Uses only additions, multiplications and divisions, which IEEE 754 defines to the last bit, and
/// integers: the samples are the same on every machine.
struct Voice {
  static let melody = Voice(
    harmonics: [1, 0.42, 0.16, 0.07, 0.03], loudness: 1, halfLife: 0.55, pan: 0.56)
  static let chords = Voice(
    harmonics: [1, 0.28, 0.07], loudness: 0.30, halfLife: 0.35, pan: 0.30)
  static let bass = Voice(
    harmonics: [1, 0.5, 0.2, 0.08], loudness: 0.55, halfLife: 0.8, pan: 0.48)

  /// One period.
  private let wave: [Double]
  private let loudness: Double
  /// Seconds in which the level falls to half.
  private let halfLife: Double
  /// 0 is left, 1 is right.
  private let pan: Double

  private static let attack = 0.014
  private static let release = 0.11

  /// `harmonics` is the loudness of each multiple of the note's frequency.
  private init(harmonics: [Double], loudness: Double, halfLife: Double, pan: Double) {
    wave = (0..<Sine.size).map { index in
      harmonics.enumerated().reduce(0) { sum, harmonic in
        sum + harmonic.element * Sine.table[index * (harmonic.offset + 1) % Sine.size]
      }
    }
    self.loudness = loudness
    self.halfLife = halfLife
    self.pan = pan
  }

  /// Adds the note to the mix, which is interleaved stereo.
  func add(_ note: Score.Note, to mix: inout [Double], rate: Int) {
    let second = Double(rate)
    let first = Int(Double(note.start) / Score.eighthsPerSecond * second)
    let held = Int(Double(note.length) / Score.eighthsPerSecond * second)
    let release = Int(Self.release * second)
    let attack = Int(Self.attack * second)
    let count = min(held + release, mix.count / 2 - first)
    let decay = Self.decay(halfLife: halfLife * second)
    // The whole range of 32 bits is one period.
    let step = UInt32(Self.frequency(note.pitch) / second * 4_294_967_296)
    var phase: UInt32 = 0
    var level = loudness
    wave.withUnsafeBufferPointer { wave in
      mix.withUnsafeMutableBufferPointer { mix in
        // Not `for`: without optimisation, iterating over a range is ten times slower.
        var index = 0
        while index < count {
          var sample = wave[Int(phase >> (32 - Sine.bits))] * level
          if index < attack { sample *= Self.ease(index, attack) }
          if index > held { sample *= Self.ease(held + release - index, release) }
          let place = (first + index) * 2
          mix[place] += sample * loudnessLeft
          mix[place + 1] += sample * loudnessRight
          phase &+= step
          level *= decay
          index += 1
        }
      }
    }
  }

  // Nearly equal power at every pan: 1 - x² is close enough to a quarter of a cosine.
  private var loudnessLeft: Double { 1 - pan * pan }
  private var loudnessRight: Double { 1 - (1 - pan) * (1 - pan) }

  /// Returns a value from 0 to 1 over `length` samples, without a corner at either end.
  private static func ease(_ index: Int, _ length: Int) -> Double {
    let x = Double(index) / Double(length)
    return x * x * (3 - 2 * x)
  }

  private static func frequency(_ pitch: Int) -> Double {
    let semitone = 1.059_463_094_359_295_3
    var frequency = 440.0
    for _ in 0..<abs(pitch - 69) {
      frequency = pitch < 69 ? frequency / semitone : frequency * semitone
    }
    return frequency
  }

  /// Returns the factor for each sample: 2^(-1/n), by the series of its logarithm.
  private static func decay(halfLife samples: Double) -> Double {
    let x = -0.693_147_180_559_945_3 / samples
    return 1 + x + x * x / 2 + x * x * x / 6
  }
}

/// One turn of a sine.
enum Sine {
  static let bits = 14
  static let size = 1 << bits

  static let table: [Double] = (0..<size).map { index in
    // Folded to a quarter of a turn, where the series is exact to the last bits of a Double.
    let half = index % (size / 2)
    let quarter = half <= size / 4 ? half : size / 2 - half
    let x = Double(quarter) / Double(size) * 2 * Double.pi
    var term = x
    var sum = x
    for n in 1..<12 {
      term *= -x * x / Double(2 * n * (2 * n + 1))
      sum += term
    }
    return index < size / 2 ? sum : -sum
  }
}
