// SPDX-License-Identifier: MIT
import Foundation

/// Files whose blocks are all different, without holes.
enum TestFile {
  static func make(_ file: URL, mebibytes: Int) throws {
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    var state: UInt64 = 1
    for _ in 0..<mebibytes {
      let words = (0..<(1 << 17)).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
      }
      try handle.write(contentsOf: words.withUnsafeBytes { Data($0) })
    }
    try handle.close()
  }
}
