// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// Random input for one test: for half a second, or, with REFRAIN_SOAK=1, for its share of more than
/// ten minutes. REFRAIN_SEED repeats a run up to its end.
struct Fuzz {
  let seed: UInt64
  private var random: SeededGenerator
  private let end: ContinuousClock.Instant

  init() {
    seed = TestSeed.next()
    random = SeededGenerator(seed: seed)
    end = ContinuousClock.now + .seconds(TestSeed.isSoak ? 120 : 0.5)
  }

  var isOver: Bool { ContinuousClock.now >= end }

  mutating func next() -> UInt64 { random.next() }

  /// Returns a number from 0 up to, not including, `bound`.
  mutating func number(below bound: Int) -> Int { random.number(below: bound) }

  /// Returns true in one of `count` cases.
  mutating func oneIn(_ count: Int) -> Bool { number(below: count) == 0 }

  mutating func pick(_ choices: [String]) -> String {
    choices.isEmpty ? "" : choices[number(below: choices.count)]
  }

  /// Returns the text with some bytes changed, removed, inserted, or repeated.
  mutating func mutated(_ text: [UInt8], with interesting: [UInt8]) -> [UInt8] {
    var text = text
    for _ in 0...number(below: 3) {
      let place = number(below: text.count + 1)
      let byte =
        oneIn(4) ? UInt8(truncatingIfNeeded: next()) : interesting[number(below: interesting.count)]
      switch number(below: 4) {
      case 0: text.insert(byte, at: place)
      case 1 where place < text.count: text[place] = byte
      case 2 where place < text.count:
        text.removeSubrange(place..<min(text.count, place + 1 + number(below: 4)))
      case 3 where place < text.count:
        let piece = text[place..<min(text.count, place + 1 + number(below: 30))]
        text.insert(contentsOf: Array(piece), at: number(below: text.count + 1))
      default: break
      }
    }
    return text
  }

  mutating func split(_ bytes: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(1 + number(below: oneIn(2) ? 5 : 200))
      pieces.append(Array(piece))
      rest = rest.dropFirst(piece.count)
    }
    return pieces
  }
}
