// SPDX-License-Identifier: MIT
import Foundation

/// A fragmented MP4 file, split at its `moof` boxes (ISO/IEC 14496-12 §8.8.4).
struct FragmentedMP4 {
  /// The boxes in front of the first fragment: the initialization segment.
  private(set) var initialization: [UInt8] = []
  /// Each fragment: a `moof` box and its `mdat` box.
  private(set) var fragments: [[UInt8]] = []

  struct Invalid: Error {}

  /// - Throws: `Invalid` if a box is cut off.
  init(_ file: Data) throws {
    var rest = [UInt8](file)[...]
    while !rest.isEmpty {
      guard rest.count >= 8 else { throw Invalid() }
      let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
      guard length >= 8, length <= rest.count else { throw Invalid() }
      let box = rest.prefix(length)
      if box.dropFirst(4).starts(with: "moof".utf8) { fragments.append([]) }
      if fragments.isEmpty {
        initialization += box
      } else {
        fragments[fragments.count - 1] += box
      }
      rest = rest.dropFirst(length)
    }
  }
}
