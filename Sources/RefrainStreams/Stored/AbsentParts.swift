// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The parts of streams that a duration computes and that their origins do not have
/// (`DASHSegments.Reference`), as downloads have found: a stream without them is complete.
///
/// They are kept in a file of the cache directory, as hashes of the keys of their URLs. A download
/// requests them again each time; a part that exists by then is stored like any other.
///
/// The methods block: call them on `IOThreads` only.
private struct AbsentParts {
  private static let fileName = "absent-parts"
  private static let capacity = 4096
  private static let longest = capacity * 24
  /// Two downloads at the same time must not lose what either of them has found.
  private static let writing = Mutex(())

  let files: PrivateFiles

  /// The last found one last. A file that cannot be read knows none.
  var known: [UInt64] {
    guard let bytes = try? files.contents(of: Self.fileName, limit: Self.longest),
      let texts = try? JSONDecoder().decode([String].self, from: Data(bytes))
    else { return [] }
    return texts.compactMap { UInt64($0, radix: 36) }
  }

  func insert(_ parts: [UInt64]) throws {
    try Self.writing.withLock { _ in
      var known = known
      let new = parts.filter { !known.contains($0) }
      guard !new.isEmpty else { return }
      known = Array((known + new).suffix(Self.capacity))
      let texts = known.map { String($0, radix: 36) }
      try files.replace(Self.fileName, with: [UInt8](JSONEncoder().encode(texts)))
    }
  }
}

extension MediaCache {
  /// Returns whether the origin is known not to have parts of a plan, given by their indices.
  func areAbsent(_ indices: [Int], of plan: StreamPlan) async -> Bool {
    guard !indices.isEmpty else { return true }
    guard indices.allSatisfy(plan.absentable.contains) else { return false }
    let parts = indices.map { name(of: plan.parts[$0].url) }
    let files = privateFiles
    let known = await IOThreads.background.run { AbsentParts(files: files).known }
    return parts.allSatisfy(known.contains)
  }

  /// Records that the origin does not have parts of a stream. Sends a warning if that fails.
  func noteAbsent(_ urls: [URL]) async {
    guard !urls.isEmpty else { return }
    let parts = urls.map { name(of: $0) }
    let files = privateFiles
    do {
      try await IOThreads.background.run { try AbsentParts(files: files).insert(parts) }
    } catch {
      report(
        warning: "The end of a stream could not be recorded; the stream may not count as complete: "
          + "\(error)")
    }
  }

  private func name(of url: URL) -> UInt64 {
    StreamParts.hash(key(for: Resource(url: url)).rawValue.utf8)
  }
}

extension MediaCacheError {
  /// Whether the origin does not have the resource.
  var isAbsence: Bool { code == .status && (status == 404 || status == 410) }
}
