// SPDX-License-Identifier: MIT

import Foundation
import OriginServer
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TuneTests {
  let samples = Tune.samples

  func side(_ channel: Int) -> [Int] {
    stride(from: channel, to: samples.count, by: 2).map { Int(samples[$0]) }
  }

  @Test func `The tune lasts between 12 and 15 seconds`() {
    let seconds = Double(samples.count / Tune.channels) / Double(Tune.sampleRate)
    #expect((12...15).contains(seconds))
    #expect(samples.count.isMultiple(of: 2))
  }

  @Test func `The tune is loud but never clips`() {
    let peak = samples.reduce(0) { max($0, abs(Int($1))) }
    #expect(peak == 26_000)
  }

  @Test func `The tune begins and ends in silence`() {
    #expect(samples.prefix(2).allSatisfy { $0 == 0 })
    #expect(samples.suffix(2000).allSatisfy { abs(Int($0)) < 30 })
  }

  @Test func `The tune has no clicks`() {
    for channel in 0...1 {
      let side = side(channel)
      let steps = zip(side, side.dropFirst()).map { abs($1 - $0) }
      // Five harmonics of the highest A at full loudness come to about this much.
      #expect(steps.reduce(0, max) < 9000)
    }
  }

  @Test func `The tune has two different channels of similar loudness`() {
    let (left, right) = (side(0), side(1))
    #expect(left != right)
    let loudness = [left, right].map { $0.reduce(0.0) { $0 + Double($1 * $1) } }
    #expect((0.7...1.4).contains(loudness[0] / loudness[1]))
  }

  @Test func `The tune plays the notes of the melody`() {
    // The strongest of a few candidate frequencies, at the middle of each note.
    let notes: [(beat: Double, frequency: Double)] = [
      (0, 739.99), (2, 783.99), (3, 880), (7, 659.26), (8, 587.33), (30, 587.33),
    ]
    let right = side(1)
    for (beat, frequency) in notes {
      let start = Int((beat + 0.3) * 60 / 144 * 44_100)
      let window = right[start..<start + 6000].map(Double.init)
      let powers = [587.33, 659.26, 739.99, 783.99, 880].map { (power(window, $0), $0) }
      #expect(powers.max { $0.0 < $1.0 }?.1 == frequency, "beat \(beat)")
    }
  }

  func power(_ window: [Double], _ frequency: Double) -> Double {
    var (real, imaginary) = (0.0, 0.0)
    for (index, sample) in window.enumerated() {
      let angle = 2 * Double.pi * frequency * Double(index) / 44_100
      real += sample * cos(angle)
      imaginary += sample * sin(angle)
    }
    return real * real + imaginary * imaginary
  }

  @Test func `The tune is served as a WAV file`() async throws {
    let wav = Tune.wav
    #expect(wav.count == 44 + samples.count * 2)
    #expect(wav.prefix(4) == Data("RIFF".utf8))
    #expect(wav[8..<16] == Data("WAVEfmt ".utf8))
    let size = wav[40..<44].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(size == samples.count * 2)
    try await OriginServer.with { origin in
      origin.serve(Tune.resource, at: "/tune.wav")
      let reply = try await get(origin, "/tune.wav")
      #expect(reply["Content-Type"] == "audio/wav")
      #expect(reply.body == Array(wav))
    }
  }
}
