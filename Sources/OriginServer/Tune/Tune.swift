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

/// The notes of the tune: the first two phrases of the "Ode to Joy" theme (Ludwig van Beethoven,
/// Symphony No. 9, 1824) in D major, with a bass and broken chords added here.
struct Score {
  struct Note {
    /// MIDI note number: 69 is the A of 440 Hz, one step a semitone.
    let pitch: Int
    /// In eighth notes.
    let start: Int
    let length: Int
  }

  /// 144 quarter notes a minute.
  static let eighthsPerSecond = 144.0 / 60 * 2

  let melody: [Note]
  let chords: [Note]
  let bass: [Note]
  /// In eighth notes.
  let length: Int

  static let odeToJoy: Score = {
    let (d, e, fis, g, a) = (74, 76, 78, 79, 81)
    let opening = [
      (fis, 2), (fis, 2), (g, 2), (a, 2), (a, 2), (g, 2), (fis, 2), (e, 2),
      (d, 2), (d, 2), (e, 2), (fis, 2),
    ]
    let question = opening + [(fis, 3), (e, 1), (e, 4)]
    let answer = opening + [(e, 3), (d, 1), (d, 4)]
    // One chord for half a bar.
    let (tonic, dominant) = (Chord.d, Chord.a7)
    let harmony: [Chord] = [
      tonic, dominant, tonic, dominant, .b, dominant, tonic, dominant,
      tonic, dominant, tonic, dominant, .b, .e, dominant, tonic,
    ]
    return Score(line: question + answer, harmony: harmony)
  }()

  private struct Chord {
    let bass: Int
    let notes: [Int]

    static let d = Chord(bass: 50, notes: [62, 66, 69])
    static let a7 = Chord(bass: 45, notes: [61, 64, 67])
    static let b = Chord(bass: 47, notes: [59, 62, 66])
    static let e = Chord(bass: 52, notes: [59, 64, 67])
  }

  private init(line: [(pitch: Int, length: Int)], harmony: [Chord]) {
    var melody: [Note] = []
    var end = 0
    for (pitch, length) in line {
      melody.append(Note(pitch: pitch, start: end, length: length))
      end += length
    }
    var chords: [Note] = []
    var bass: [Note] = []
    for (index, chord) in harmony.enumerated() {
      let isLast = index == harmony.count - 1
      bass.append(Note(pitch: chord.bass, start: index * 4, length: 4))
      for (step, voice) in [0, 1, 2, 1].enumerated() {
        // The last chord is held.
        if isLast, step == 3 { continue }
        let length = isLast ? 4 - step : 2
        chords.append(Note(pitch: chord.notes[voice], start: index * 4 + step, length: length))
      }
    }
    self.melody = melody
    self.chords = chords
    self.bass = bass
    length = end
  }
}
