// SPDX-License-Identifier: MIT
import Foundation

extension Generation {
  /// Examines the bytes of a resource that may be a document (`DocumentRules`) once all are stored:
  /// the update interval that it states bounds how long it is used without asking. Blocks on the
  /// disk.
  ///
  /// - Parameters:
  ///   - given: the length of the resource, if the state does not have it yet.
  ///   - written: a range that was written to `file` and is not readable yet. A reader that is
  ///     given the last bytes before their pace is known could use the document for too long.
  /// - Returns: whether all bytes were there to be examined.
  @discardableResult
  func learnPace(
    length given: Int64? = nil, with written: (ByteRange, EntryFile)? = nil
  ) -> Bool {
    let complete = withState { state -> (any DocumentRules, EntryFile, Int64)? in
      guard let rules = state.representation.documents, let file = state.file,
        let length = given ?? state.length,
        (1...state.representation.longestDocument).contains(length),
        state.freshness?.pace == nil || state.freshness?.pace == .unread
      else { return nil }
      var stored = state.stored
      if let (range, writtenFile) = written {
        guard writtenFile === file else { return nil }
        stored.insert(contentsOf: range)
      }
      guard stored.end(from: 0) >= length else { return nil }
      return (rules, file, length)
    }
    guard let (rules, file, length) = complete else { return false }
    let start = min(length, Int64(documentBeginning))
    guard let beginning = file.beginning(start) else { return true }
    var isUnreadable = false
    let pace = rules.pace(at: entry.resource.url, beginning: beginning) {
      let body = file.beginning(length)
      isUnreadable = body == nil
      return body
    }
    if isUnreadable { return true }
    withState { state in
      // Its name says document, but its bytes do not.
      let isNamed = state.freshness?.pace == .unread
      guard let pace = pace ?? (isNamed ? .unstated : nil) else { return }
      state.representation.setPace(pace)
      state.storage.noteRecordStale()
    }
    return true
  }
}
