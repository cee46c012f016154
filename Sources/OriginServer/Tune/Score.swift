// SPDX-License-Identifier: MIT

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
