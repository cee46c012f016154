// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainStreams

struct SelectedResponse: Sendable {
  /// Cancelled by the caller of `select`.
  let reader: MediaReader
  let known: StoredResponse
  /// When the request was made.
  let started: Date
  /// Whether it may be a manifest; nil if that is unknown (`CachedAnswer.isManifest`).
  var isManifest: Bool?
  /// The source of all of it when it was selected; later, requests of others would count.
  var source = ServedRequest.Source.hit

  var length: Int64? { known.information.length }

  /// Returns the source of a range (nil: of the head alone) as it is now, and its Cache-Status.
  func source(of wanted: ByteRange?) -> (ServedRequest.Source, CacheStatus) {
    let before = reader.spansBefore
    let range = wanted?.clamped(to: 0..<(length ?? .max)) ?? 0..<0
    let there = before.byteCount(in: range)
    let isAsked = reader.statistics.requests > 0
    if there == range.count, !(wanted == nil && before.isEmpty && isAsked) {
      if !isAsked { return (.hit, CacheStatus()) }
      return known.freshness.confirmedAt >= started
        ? (.revalidated, CacheStatus(forwarded: .stale)) : (.stale, CacheStatus())
    }
    if there > 0 {
      return (.partial, CacheStatus(forwarded: .partial, isStored: reader.isStoring))
    }
    return (
      .miss,
      CacheStatus(forwarded: .uriMiss, isStored: reader.isStoring, isCollapsed: !isAsked)
    )
  }
}

extension CachedAnswer {
  /// Opens readers until one has the response that the request selects: one shared with other
  /// requests may be for one of them, and the origin may have responded to another one meanwhile.
  /// Throws `Elsewhere`, `HTTPError`, `MediaCacheError` or `CancellationError`.
  func select(_ terms: ReadTerms) async throws -> SelectedResponse {
    let started = service.cache.now.wall
    var attemptsLeft = 4
    do {
      while true {
        let reader = try await service.cache.open(resource, on: terms, fill: .onDemand, key: key)
        do {
          if terms.directives.onlyIfCached { try checkIsThere(reader) }
          let known = try await learn(reader)
          if attemptsLeft == 0 || known.otherKey(than: reader.key, for: resource.headers) == nil {
            var selected = SelectedResponse(reader: reader, known: known, started: started)
            selected.source = selected.source(of: 0..<(selected.length ?? .max)).0
            selected.isManifest = try await isManifest(reader, known)
            return selected
          }
          reader.cancel()
        } catch {
          reader.cancel()
          guard attemptsLeft > 0, (error as? MediaCacheError)?.code == .resourceChanged else {
            throw error
          }
        }
        attemptsLeft -= 1
      }
    } catch let error as MediaCacheError {
      throw try outcome(of: error, terms)
    }
  }

  /// Throws 504 if a request would be needed (RFC 9111 §5.2.1.7).
  private func checkIsThere(_ reader: MediaReader) throws {
    guard let lease = service.cache.hold(reader),
      let known = lease.known(terms, at: service.cache.now), let length = known.information.length
    else { throw Self.notThere }
    let wanted = wanted(of: length)
    guard wanted.isEmpty || lease.file(of: known, holding: wanted) != nil else {
      throw Self.notThere
    }
  }

  /// Waits until the resource is known, and the first byte that the client wants is there or on its
  /// way: the response that brings it may be of another version than the stored one. The first
  /// request to the origin begins at that offset.
  private func learn(_ reader: MediaReader) async throws -> StoredResponse {
    let (start, end) = bounds
    if let end { reader.setEnd(end, readsOn: true) }
    if isGrowing { reader.requestNothingBeyondEnd() }
    if isHEAD { reader.setEnd(1) }
    if start > 0 {
      do {
        if case .end = try await reader.available(at: start, count: 0) {
          // The origin may have reported nothing but the end.
          reader.setEnd(.max)
          _ = try await reader.available(at: 0, count: 0)
        }
      } catch let error as MediaCacheError where error.code == .badRange {
        // Beyond the end, which the origin did not report: the beginning shows it.
      }
    } else if end != nil, !isHEAD, conditions == nil {
      _ = try await reader.contentInformation()
      if reader.announcedEnd(from: 0) == 0 { _ = try await reader.available(at: 0, count: 0) }
    }
    return try await reader.settle()
  }

  /// Returns whether the response may be a manifest, by its type, its name or its first bytes. Nil
  /// if these are neither stored nor needed for the response: they are not requested for this.
  private func isManifest(_ reader: MediaReader, _ known: StoredResponse) async throws -> Bool? {
    let (type, length) = (known.information.mimeType, known.information.length)
    let urls = [exchange.url, known.information.finalURL]
    if urls.contains(where: { Manifest.isNamed(mimeType: type, url: $0) }) { return true }
    // An empty resource has no first byte to wait for.
    guard length != 0, Manifest.mayBeUnnamed(mimeType: type, length: length) else { return false }
    let isStored = length.map { reader.spansBefore.byteCount(in: 0..<$0) == $0 } ?? false
    // The first byte of a range from the start is requested in any case, and for HEAD and conditions
    // if the origin was asked.
    let isComing = !isHEAD && conditions == nil || reader.statistics.requests > 0
    guard
      isStored
        || isComing && bounds.start == 0 && bounds.end != nil && !terms.directives.onlyIfCached
    else { return nil }
    let longest = Manifest.longestBeginning
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 1)
    defer { buffer.deallocate() }
    var bytes: [UInt8] = []
    while true {
      // Most media needs one byte.
      let most = bytes.isEmpty ? 512 : longest
      let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<most])
      let offset = Int64(bytes.count)
      var count = 0
      // Stored bytes do not count as read: they are read again to be sent.
      if case .file(let file, let end) = try await reader.available(at: offset, count: 0) {
        // Only that thread writes there, and this waits for it.
        nonisolated(unsafe) let lent = UnsafeMutableRawBufferPointer(
          rebasing: space[..<min(most, Int(clamping: end - offset))])
        count = await IOThreads.shared.run { file.copy(into: lent, at: offset) ?? 0 }
      }
      // Bytes in memory, and those that have to be fetched again.
      if count == 0 { count = try await reader.read(into: space, at: offset) }
      bytes += buffer[..<count]
      let isWhole = count == 0 || length == Int64(bytes.count)
      if let answer = Manifest.isBeginning(bytes, isWhole: isWhole) { return answer }
      // The client may have requested less.
      if isHEAD || bounds.end ?? .max < longest { reader.setEnd(Int64(longest), readsOn: true) }
    }
  }
}
