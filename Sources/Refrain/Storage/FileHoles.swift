// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
  import CLinuxSystem
#endif

/// Where a sparse file has no blocks (lseek(2), SEEK_HOLE).
enum FileHoles {
  #if canImport(Glibc)
    static func find(in descriptor: Int32) -> RangeSet<Int64> {
      var holes = RangeSet<Int64>()
      guard let size = FileReading.measure(descriptor)?.size else { return holes }
      var offset: Int64 = 0
      while offset < size {
        let hole = Int64(refrain_seek_hole(descriptor, off_t(offset)))
        guard hole >= 0, hole < size else { break }
        let data = Int64(refrain_seek_data(descriptor, off_t(hole)))
        let end = data < 0 ? size : data
        holes.insert(contentsOf: hole..<end)
        offset = end
      }
      return holes
    }
  #else
    /// Elsewhere zeros that were written may be stored as a hole: nothing can be told from one.
    static func find(in descriptor: Int32) -> RangeSet<Int64> { RangeSet() }
  #endif
}
