// SPDX-License-Identifier: MIT
import Foundation

extension MediaCache {
  /// The result of comparing an entry with its origin.
  public struct Comparison: Sendable, Hashable {
    /// The number of stored bytes that were compared.
    public var comparedBytes: Int64 = 0
    /// The stored ranges that differ, in blocks of 64 KiB. They were dropped.
    public var damaged = RangeSet<Int64>()
    /// Why the comparison was impossible or incomplete; nil if it was complete.
    public var obstacle: MediaCacheError?
  }

  /// Compares the stored bytes of a resource with the origin's, and drops those that differ, so
  /// that they are fetched again when needed.
  ///
  /// Every stored byte is requested again, by ranges: this costs as much as fetching them. Damage
  /// can only be distinguished from a change if the origin identifies its version by an ETag or a
  /// Last-Modified (RFC 9110 §8.8): a resource whose version has changed is neither compared nor
  /// dropped. If there is neither validator, and something differs, the whole entry is dropped.
  ///
  /// - Parameter resource: the stored resource, with the headers that its requests need.
  /// - Returns: nil if nothing is stored.
  /// - Throws: `MediaCacheError`: `.inUse` if something differs and another process, or a reader of
  ///   this one, uses the entry; `.storage`. `CancellationError`.
  public func compareWithOrigin(_ resource: Resource) async throws -> Comparison? {
    let key = await entryKey(for: resource)
    guard let entry = try await entry(for: key) else { return nil }
    let stored = try await storedValidator(for: key)
    var comparison = Comparison()
    guard await isSettled(resource) else {
      comparison.obstacle = MediaCacheError(
        .resourceChanged, "The resource was stored under another signature of its URL.",
        remedy: "Compare it by the URL of its entry.")
      return comparison
    }
    do {
      let match = try await compare(entry, stored, with: resource, &comparison)
      if match == .unknown, !comparison.damaged.isEmpty { comparison.damaged = entry.spans }
    } catch let error as MediaCacheError {
      comparison.obstacle = error
    }
    if !comparison.damaged.isEmpty { try await discard(comparison.damaged, of: key) }
    return comparison
  }

  private static let block: Int64 = 64 << 10

  /// Compares through a temporary cache, which can ask an origin and is removed afterwards.
  private func compare(
    _ entry: EntrySummary, _ stored: Validator, with resource: Resource,
    _ comparison: inout Comparison
  ) async throws -> Validator.Match {
    var configuration = context.configuration
    configuration.limit = 64 << 20
    configuration.offline = false
    configuration.network = context.network
    configuration.transport = context.transport
    let directory = FileManager.default.temporaryDirectory
      .appending(path: "refrain-compare-\(UUID().uuidString)", directoryHint: .isDirectory)
    // If removal fails, the system clears its temporary directory.
    defer { try? FileManager.default.removeItem(at: directory) }
    let fresh = try MediaCache(directory: directory, configuration: configuration)
    let result: Result<Validator.Match, any Error>
    do {
      let reader = try await fresh.open(resource, fill: .onDemand)
      defer { reader.cancel() }
      result = .success(try await Self.compare(entry, stored, with: reader, &comparison))
    } catch {
      result = .failure(error)
    }
    await fresh.close()
    return try result.get()
  }

  private static func compare(
    _ entry: EntrySummary, _ stored: Validator, with reader: MediaReader,
    _ comparison: inout Comparison
  ) async throws -> Validator.Match {
    let known = try await reader.settle()
    let match = stored.matches(
      Validator(
        etag: known.etag, lastModified: known.lastModified,
        isStrongLastModified: known.isStrongLastModified))
    let length = known.information.length
    guard match != .different, match == .unknown || entry.length == nil || length == entry.length
    else {
      throw MediaCacheError(
        .resourceChanged, "The origin has another version of the resource now.",
        remedy: "The stored version can no longer be checked; the next use replaces it.")
    }
    let file = try FileHandle(forReadingFrom: entry.file)
    defer { try? file.close() }
    for span in entry.spans.ranges {
      var offset = span.lowerBound
      while offset < span.upperBound {
        let range = offset..<min(span.upperBound, (offset / block + 1) * block)
        let theirs = try await reader.bytes(in: range)
        let ours = await IOThreads.background.run { Self.read(file, range) }
        if theirs != ours { comparison.damaged.insert(contentsOf: range) }
        comparison.comparedBytes += range.upperBound - range.lowerBound
        offset = range.upperBound
      }
    }
    return match
  }

  /// Returns the bytes of a range; nil, which differs from any bytes, if they cannot be read.
  private static func read(_ file: FileHandle, _ range: ByteRange) -> Data? {
    do {
      try file.seek(toOffset: UInt64(range.lowerBound))
      return try file.read(upToCount: Int(range.upperBound - range.lowerBound))
    } catch {
      return nil
    }
  }
}
