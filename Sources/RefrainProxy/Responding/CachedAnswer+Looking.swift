// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

/// Recognizes manifests, also those that neither their type nor their URL names.
extension CachedAnswer {
  /// Returns whether the response may be a manifest: by its type or its name, or else by its first
  /// bytes. Most media shows by its first byte that it is none.
  ///
  /// Nil if the resource could be a manifest without a manifest's name, and its first bytes are
  /// neither stored nor needed for the response: they are not requested from the origin for this.
  ///
  /// - Throws: `MediaCacheError`; `CancellationError`.
  func isManifest(
    _ reader: MediaReader, _ known: StoredResponse, _ terms: ReadTerms
  ) async throws -> Bool? {
    if isNamedManifest(known) { return true }
    let (type, length) = (known.information.mimeType, known.information.length)
    guard Manifest.mayBeUnnamed(mimeType: type, length: length) else { return false }
    // An empty resource has no first byte to wait for.
    guard length != 0 else { return false }
    guard isStored(reader, length) || needsBeginning(reader, terms) else { return nil }
    return try await beginsLikeManifest(reader, length)
  }

  /// Whether the response is a manifest by its type or its name.
  private func isNamedManifest(_ known: StoredResponse) -> Bool {
    let information = known.information
    return [exchange.url, information.finalURL].contains {
      Manifest.isNamed(mimeType: information.mimeType, url: $0)
    }
  }

  /// Whether the first byte is there, or is requested in any case.
  private func needsBeginning(_ reader: MediaReader, _ terms: ReadTerms) -> Bool {
    // The start of several ranges, or of the last bytes, is unknown without the length.
    guard range.bounds.start == 0, range.bounds.end != nil, !terms.directives.onlyIfCached else {
      return false
    }
    let needsBytes = !isHEAD && Preconditions(fields: exchange.fields) == nil
    return needsBytes || reader.statistics.requests > 0 || reader.spansBefore.contains(0)
  }

  /// Whether all of the resource was stored before the request.
  private func isStored(_ reader: MediaReader, _ length: Int64?) -> Bool {
    guard let length else { return false }
    return reader.spansBefore.ranges.contains { $0.lowerBound == 0 && length <= $0.upperBound }
  }

  private func beginsLikeManifest(_ reader: MediaReader, _ length: Int64?) async throws -> Bool {
    let longest = Int64(Manifest.longestBeginning)
    var bytes: [UInt8] = []
    while true {
      let found = try await piece(of: reader, at: Int64(bytes.count))
      bytes += found
      let isWhole = found.isEmpty || length == Int64(bytes.count)
      if let answer = Manifest.isBeginning(bytes, isWhole: isWhole) { return answer }
      // The client may have requested less.
      if isHEAD || range.bounds.end ?? .max < longest { reader.setEnd(longest, readsOn: true) }
    }
  }

  /// The number of bytes read first: most media needs one.
  private static let firstPiece = 512

  /// Returns bytes of the beginning; none at the end of the resource. Stored ones do not count as
  /// read: they are read again to be sent.
  private func piece(of reader: MediaReader, at offset: Int64) async throws -> [UInt8] {
    let most = offset == 0 ? Self.firstPiece : Manifest.longestBeginning
    if case .file(let file, let end) = try await reader.available(at: offset, count: 0) {
      let count = Int(min(end - offset, Int64(most)))
      let bytes = await IOThreads.shared.run {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
          filled = file.copy(into: UnsafeMutableRawBufferPointer(buffer), at: offset) ?? 0
        }
      }
      if !bytes.isEmpty { return bytes }
    }
    // Bytes in memory, and those that have to be fetched again.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: most, alignment: 1)
    defer { buffer.deallocate() }
    let count = try await reader.read(into: buffer, at: offset)
    return Array(buffer[..<count])
  }
}
