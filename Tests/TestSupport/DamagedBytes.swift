// SPDX-License-Identifier: MIT

extension [UInt8] {
  /// Changes one to eight places at random: inserts one of `grains` or a byte, removes some bytes, or
  /// replaces one.
  package mutating func damage(
    with grains: [[UInt8]], _ generator: inout some RandomNumberGenerator
  ) {
    for _ in 0..<Int.random(in: 1...8, using: &generator) {
      let place = Int.random(in: 0...count, using: &generator)
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: insert(contentsOf: grains.randomElement(using: &generator) ?? [], at: place)
      case 1: removeSubrange(place..<Swift.min(count, place + 9))
      case 2 where place < count: self[place] = UInt8(truncatingIfNeeded: generator.next())
      default: insert(UInt8(truncatingIfNeeded: generator.next()), at: place)
      }
    }
  }
}
