// SPDX-License-Identifier: MIT

/// Places the blocks of an endless stream in a file: a block that is dropped leaves its slot to a
/// later one, so that the file is no longer than the blocks kept at one time. A pure value.
struct RingSlots: Sendable {
  let blockSize: Int64
  /// The number of the first block kept.
  private(set) var firstBlock: Int64 = 0
  /// The slots of the kept blocks, in the order of the blocks.
  private var slots: [Int] = []
  private var free: [Int] = []
  /// The number of slots made so far.
  private(set) var count = 0

  init(blockSize: Int64) { self.blockSize = blockSize }

  /// The first byte kept.
  var start: Int64 { firstBlock * blockSize }

  /// The byte up to which there are slots.
  var end: Int64 { (firstBlock + Int64(slots.count)) * blockSize }

  /// The bytes of the file.
  var fileSize: Int64 { Int64(count) * blockSize }

  /// Adds a slot to the file, for a later block.
  mutating func grow() {
    free.append(count)
    count += 1
  }

  /// Gives the next block a slot. Returns false if none is free.
  mutating func addBlock() -> Bool {
    guard let slot = free.popLast() else { return false }
    slots.append(slot)
    return true
  }

  /// Drops the first block. Returns false if there is none.
  mutating func dropFirst() -> Bool {
    guard let slot = slots.first else { return false }
    slots.removeFirst()
    free.append(slot)
    firstBlock += 1
    return true
  }

  /// Drops all blocks that lie before a byte.
  mutating func drop(before offset: Int64) {
    while start + blockSize <= offset, dropFirst() {}
  }

  /// Returns the place of a byte in the file, and the number of bytes from there to the end of its
  /// block; nil if the byte has no slot.
  func place(of offset: Int64) -> (offset: Int64, count: Int)? {
    guard offset >= start, offset < end else { return nil }
    let within = offset % blockSize
    let slot = slots[Int(offset / blockSize - firstBlock)]
    return (Int64(slot) * blockSize + within, Int(blockSize - within))
  }
}
