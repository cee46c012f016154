// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

@testable import Refrain

/// The contents of a cache directory, read without a cache.
struct StoredBytes {
  let directory: EntryDirectory
  var bootIdentity: String { directory.bootIdentity }

  init(_ cache: URL, _ key: CacheKey, bootIdentity: String = BootIdentity.current) {
    let budget = DiskBudget(
      directory: cache.path(percentEncoded: false).trimmed, limit: nil, disk: SystemDisk(),
      bootIdentity: bootIdentity, clock: { .now })
    directory = budget.entryDirectory(named: KeyHash.name(of: key))
  }

  init(_ cache: URL, _ url: URL, bootIdentity: String = BootIdentity.current) {
    self.init(cache, CacheKey(url: url), bootIdentity: bootIdentity)
  }

  private enum Outcome {
    case found(EntryDirectory.Contents)
    case problem(EntryDirectory.Problem)
  }

  private func load() -> Outcome {
    do throws(EntryDirectory.Problem) {
      return .found(try directory.load())
    } catch {
      return .problem(error)
    }
  }

  /// Returns the ranges that a cache would find readable now; none if there is no entry.
  func spans() throws -> RangeSet<Int64> {
    switch load() {
    case .found(let contents): return contents.spans
    case .problem(.empty): return RangeSet()
    case .problem(let problem): throw problem
    }
  }

  /// As `spans`, but none if the entry cannot be used.
  func usableSpans() -> RangeSet<Int64> {
    if case .found(let contents) = load() { contents.spans } else { RangeSet() }
  }

  /// The ETag of the stored bytes; nil if none are usable.
  var etag: String? {
    if case .found(let contents) = load() { contents.record.validator.etag } else { nil }
  }

  /// Returns the offset of the first wrong byte among those claimed; nil if there is none.
  func firstWrongByte(_ bytes: SyntheticBytes) throws -> Int64? {
    guard case .found(let contents) = load(), let file = contents.file else { return nil }
    for span in contents.spans.ranges {
      var offset = span.lowerBound
      while offset < span.upperBound {
        let end = min(offset + (1 << 20), span.upperBound)
        var buffer = [UInt8](repeating: 0, count: Int(end - offset))
        let read = buffer.withUnsafeMutableBytes { file.copy(into: $0, at: offset) }
        let count = try #require(read)
        let right = bytes.bytes(in: offset..<end)
        if count < buffer.count || buffer != right {
          let index = zip(buffer[..<count], right).enumerated().first { $1.0 != $1.1 }?.offset
          return offset + Int64(index ?? count)
        }
        offset = end
      }
    }
    return nil
  }
}

extension String {
  fileprivate var trimmed: String { count > 1 && hasSuffix("/") ? String(dropLast()) : self }
}
