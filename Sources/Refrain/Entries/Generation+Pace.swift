// SPDX-License-Identifier: MIT
import Foundation

extension Generation {
  /// Examines the bytes once all are stored, if they may be a manifest: the update interval that it
  /// states bounds how long it is used without asking. Blocks on the disk.
  ///
  /// - Parameters:
  ///   - given: the length of the resource, if the state does not have it yet.
  ///   - written: a range that was written to `file` and is not readable yet. A reader that is
  ///     given the last bytes before their pace is known could use the manifest for too long.
  /// - Returns: whether all bytes were there to be examined.
  @discardableResult
  func learnPace(
    length given: Int64? = nil, with written: (ByteRange, EntryFile)? = nil
  ) -> Bool {
    let complete = withState { state -> (EntryFile, Int64)? in
      guard let file = state.file, let length = given ?? state.length,
        (1...Manifest.longest).contains(length),
        state.freshness?.pace == nil || state.freshness?.pace == .unread
      else { return nil }
      var stored = state.stored
      if let (range, writtenFile) = written {
        guard writtenFile === file else { return nil }
        stored.insert(contentsOf: range)
      }
      guard stored.range(containing: 0)?.upperBound ?? 0 >= length else { return nil }
      return (file, length)
    }
    guard let (file, length) = complete else { return false }
    guard let start = Self.bytes(of: file, min(length, 64)) else { return true }
    var pace: UpdatePace?
    if Manifest.mayBegin(with: start) {
      guard let body = Self.bytes(of: file, length) else { return true }
      pace = Manifest.pace(
        of: body, isBlockingReload: Manifest.isBlockingReload(entry.resource.url))
    }
    withState { state in
      // The type says manifest, but the bytes do not, as with plain lists of songs.
      let isNamed = state.freshness?.pace == .unread
      guard let pace = pace ?? (isNamed ? .unstated : nil) else { return }
      state.representation.setPace(pace)
      state.storage.noteRecordStale()
    }
    return true
  }

  /// Returns the first bytes of the file; nil if they cannot be read.
  private static func bytes(of file: EntryFile, _ count: Int64) -> Data? {
    var data = Data(count: Int(count))
    var filled = 0
    while filled < data.count {
      let read = data.withUnsafeMutableBytes { buffer in
        // The next reader of these bytes reports the error.
        try? file.read(
          into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: Int64(filled))
      }
      guard let read, read > 0 else { return nil }
      filled += read
    }
    return data
  }
}
