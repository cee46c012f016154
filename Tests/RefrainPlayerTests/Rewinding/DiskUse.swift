// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  extension Listening {
    /// The bytes that the blocks of a recording may take beyond what is kept: the one that is
    /// written, the one whose sound is dropped in part, and one more, of 64 KiB each.
    nonisolated static let mostBeyondRing: Int64 = 3 * (64 << 10)

    /// The bytes on disk of all files of the cache, including those without a name that this
    /// process has open, as recordings are.
    var bytesOnDisk: Int64 {
      let files = FileManager.default
      let cache = directory.appending(path: "cache").path(percentEncoded: false)
      let named = (try? files.subpathsOfDirectory(atPath: cache)) ?? []
      let descriptors = (try? files.contentsOfDirectory(atPath: Self.descriptors)) ?? []
      // One may be closed meanwhile, and its number be another file's.
      let unnamed = descriptors.map { "\(Self.descriptors)/\($0)" }.filter { path in
        let target = (try? files.destinationOfSymbolicLink(atPath: path)) ?? ""
        return target.hasPrefix("\(cache)/") && target.hasSuffix(" (deleted)")
      }
      return (named.map { "\(cache)/\($0)" } + unnamed).reduce(0) { $0 + Self.bytes(of: $1) }
    }

    private static let descriptors = "/proc/self/fd"

    /// Returns the bytes of a file without its holes; 0 if there is none.
    private static func bytes(of path: String) -> Int64 {
      var status = stat()
      guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0 }
      return min(Int64(status.st_size), Int64(status.st_blocks) * 512)
    }
  }
#endif
